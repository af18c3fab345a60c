#include "inference/sampler/constraint/json_schema.h"

#include "inference/sampler/constraint/json_grammar.h"
#include "inference/sampler/constraint/regex_tree.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

using State = ByteNfa::State;
using Value = JsonDoc::Value;
using Kind = JsonDoc::Kind;
namespace grammar = json_grammar;

constexpr std::string_view kAnnotations[] = {"$comment", "$defs",       "$id",        "$schema",
                                             "default",  "definitions", "deprecated", "description",
                                             "examples", "readOnly",    "title",      "writeOnly"};
constexpr std::string_view kKeywords[] = {"$ref",
                                          "additionalProperties",
                                          "allOf",
                                          "anyOf",
                                          "const",
                                          "enum",
                                          "exclusiveMaximum",
                                          "exclusiveMinimum",
                                          "items",
                                          "maxItems",
                                          "maxLength",
                                          "maximum",
                                          "minItems",
                                          "minLength",
                                          "minimum",
                                          "pattern",
                                          "properties",
                                          "required",
                                          "type"};
constexpr std::string_view kTypes[] = {"null",   "boolean", "integer", "number",
                                       "string", "array",   "object"};

template <class List>
bool contains(const List& list, std::string_view what) {
  return std::find(std::begin(list), std::end(list), what) != std::end(list);
}

std::optional<Value> find(Value object, std::string_view key) {
  for (size_t i = 0; i < object.size(); ++i) {
    if (object.key(i) == key) return object.member(i);
  }
  return std::nullopt;
}

bool has_type(Value value, std::string_view type) {
  switch (value.kind()) {
    case Kind::Null:
      return type == "null";
    case Kind::Bool:
      return type == "boolean";
    case Kind::Integer:
    case Kind::Unsigned:
      return type == "integer" || type == "number";
    case Kind::Real:
      return type == "number" || (type == "integer" && value.real() == std::floor(value.real()));
    case Kind::String:
      return type == "string";
    case Kind::Array:
      return type == "array";
    case Kind::Object:
      return type == "object";
  }
  return false;
}

/// A schema and where it stands.
struct Place {
  Value schema;
  std::string path;

  [[nodiscard]] Place at(std::string_view key, Value value) const {
    return {value, fmt::format("{}/{}", path, key)};
  }
  template <class... A>
  Status wrong(fmt::format_string<A...> format, A&&... args) const {
    return invalid_argument("json schema: {}: {}", path,
                            fmt::format(format, std::forward<A>(args)...));
  }
};

class SchemaBuilder {
 public:
  SchemaBuilder(ByteNfa& nfa, Value root) : nfa_(nfa), root_(root) {}

  Result<State> value(State from, const Place& place, int depth) {
    if (nfa_.full()) return from;
    if (depth > JsonSchemaLimits::kMaxDepth) {
      return place.wrong("schemas nest deeper than {}", JsonSchemaLimits::kMaxDepth);
    }
    if (place.schema.is(Kind::Bool)) {
      if (!place.schema.boolean()) return place.wrong("false allows nothing");
      return grammar::free_value(nfa_, from, JsonSchemaLimits::kFreeDepth);
    }
    if (!place.schema.is(Kind::Object)) {
      return place.wrong("a schema must be an object or true, not {}", name(place.schema.kind()));
    }
    RETURN_IF_ERROR(check_keywords(place));
    if (const auto ref = find(place.schema, "$ref")) return reference(from, place, *ref, depth);
    if (const auto any = find(place.schema, "anyOf")) return any_of(from, place, *any, depth);
    if (const auto all = find(place.schema, "allOf")) return all_of(from, place, *all, depth);
    if (find(place.schema, "const") || find(place.schema, "enum")) return fixed(from, place);
    return typed(from, place, depth);
  }

 private:
  Status check_keywords(const Place& place) const {
    for (size_t i = 0; i < place.schema.size(); ++i) {
      const std::string_view key = place.schema.key(i);
      if (contains(kAnnotations, key) || contains(kKeywords, key)) continue;
      return place.wrong("keyword '{}' is not supported", key);
    }
    return {};
  }

  /// Nothing beside `key` (and `second`) restricts the value.
  Status alone(const Place& place, std::string_view key, std::string_view second = "") const {
    for (size_t i = 0; i < place.schema.size(); ++i) {
      const std::string_view other = place.schema.key(i);
      if (other == key || other == second || contains(kAnnotations, other)) continue;
      return place.wrong("keyword '{}' beside '{}' is not supported", other, key);
    }
    return {};
  }

  Result<State> reference(State from, const Place& place, Value ref, int depth) {
    RETURN_IF_ERROR(alone(place, "$ref"));
    if (!ref.is(Kind::String)) return place.wrong("$ref must be a string");
    const std::string pointer(ref.string());
    if (contains(open_, pointer) || pointer == "#") {
      return place.wrong("$ref '{}' contains itself, which is not supported", pointer);
    }
    if (!pointer.starts_with("#/")) {
      return place.wrong("$ref '{}': only references into the schema (#/..) are supported",
                         pointer);
    }
    Value target = root_;
    for (size_t begin = 2; begin <= pointer.size();) {
      const size_t end = std::min(pointer.find('/', begin), pointer.size());
      std::string key = pointer.substr(begin, end - begin);
      for (const auto& [code, c] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}}) {
        for (size_t p = 0; (p = key.find(code, p)) != std::string::npos; ++p) key.replace(p, 2, c);
      }
      const auto next = target.is(Kind::Object) ? find(target, key) : std::nullopt;
      if (!next) return place.wrong("$ref '{}' leads nowhere", pointer);
      target = *next;
      begin = end + 1;
    }
    open_.push_back(pointer);
    auto end = value(from, {target, pointer}, depth + 1);
    open_.pop_back();
    return end;
  }

  Result<State> any_of(State from, const Place& place, Value list, int depth) {
    RETURN_IF_ERROR(alone(place, "anyOf"));
    if (!list.is(Kind::Array) || list.size() == 0) return place.wrong("anyOf must be a list");
    const State end = nfa_.add();
    for (size_t i = 0; i < list.size(); ++i) {
      const Place one = place.at(fmt::format("anyOf/{}", i), list.item(i));
      ASSIGN_OR_RETURN(const State at, value(from, one, depth + 1));
      nfa_.jump(at, end);
    }
    return end;
  }

  Result<State> all_of(State from, const Place& place, Value list, int depth) {
    RETURN_IF_ERROR(alone(place, "allOf"));
    if (!list.is(Kind::Array) || list.size() != 1) {
      return place.wrong("allOf of other than one schema is not supported");
    }
    return value(from, place.at("allOf/0", list.item(0)), depth + 1);
  }

  Result<std::vector<std::string_view>> types(const Place& place) const {
    const auto given = find(place.schema, "type");
    std::vector<std::string_view> out;
    if (!given) return out;
    const bool list = given->is(Kind::Array);
    for (size_t i = 0; i < (list ? given->size() : 1); ++i) {
      const Value one = list ? given->item(i) : *given;
      if (!one.is(Kind::String) || !contains(kTypes, one.string())) {
        return place.wrong(
            "unknown type; known: null, boolean, integer, number, string, array, "
            "object");
      }
      out.push_back(one.string());
    }
    if (out.empty()) return place.wrong("type is an empty list");
    return out;
  }

  Result<State> fixed(State from, const Place& place) {
    const auto constant = find(place.schema, "const"), list = find(place.schema, "enum");
    for (size_t i = 0; i < place.schema.size(); ++i) {
      const std::string_view key = place.schema.key(i);
      if (key == "const" || key == "enum" || key == "type" || contains(kAnnotations, key)) continue;
      return place.wrong("keyword '{}' beside '{}' is not supported", key,
                         constant ? "const" : "enum");
    }
    ASSIGN_OR_RETURN(const auto allowed, types(place));
    if (list && !list->is(Kind::Array)) return place.wrong("enum must be a list");
    const State end = nfa_.add();
    bool some = false;
    const auto take = [&](Value one) {
      const bool fits =
          allowed.empty() || std::any_of(allowed.begin(), allowed.end(),
                                         [&](auto type) { return has_type(one, type); });
      if (!fits) return;
      nfa_.jump(grammar::literal(nfa_, from, one), end);
      some = true;
    };
    if (constant) {
      take(*constant);
    } else {
      for (size_t i = 0; i < list->size(); ++i) take(list->item(i));
    }
    if (!some) return place.wrong("{} allows nothing", constant ? "const" : "enum");
    return end;
  }

  Result<State> typed(State from, const Place& place, int depth) {
    ASSIGN_OR_RETURN(auto allowed, types(place));
    if (allowed.empty()) {
      // The keywords say which type is meant; other types would satisfy the schema as well.
      const auto any = [&](std::initializer_list<std::string_view> keys) {
        return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
          return find(place.schema, key).has_value();
        });
      };
      if (any({"properties", "required", "additionalProperties"})) {
        allowed = {"object"};
      } else if (any({"items", "minItems", "maxItems"})) {
        allowed = {"array"};
      } else if (any({"pattern", "minLength", "maxLength"})) {
        allowed = {"string"};
      } else if (any({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})) {
        allowed = {"integer"};
      } else {
        return grammar::free_value(nfa_, from, JsonSchemaLimits::kFreeDepth);
      }
    }
    const State end = nfa_.add();
    for (const std::string_view type : allowed) {
      ASSIGN_OR_RETURN(const State at, of_type(from, place, type, depth));
      nfa_.jump(at, end);
    }
    return end;
  }

  Result<State> of_type(State from, const Place& place, std::string_view type, int depth) {
    if (type == "null") return nfa_.text(from, "null");
    if (type == "boolean") return grammar::either(nfa_, from, "true", "false");
    if (type == "integer") return integer(from, place);
    if (type == "string") return string(from, place);
    if (type == "array") return array(from, place, depth);
    if (type == "object") return object(from, place, depth);
    for (const auto key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
      if (find(place.schema, key)) {
        return place.wrong("keyword '{}' of type number is not supported", key);
      }
    }
    return grammar::number(nfa_, from);
  }

  Result<int64_t> count(const Place& place, std::string_view key, int64_t otherwise) const {
    const auto given = find(place.schema, key);
    if (!given) return otherwise;
    if (!given->is(Kind::Integer) && !given->is(Kind::Unsigned)) {
      return place.wrong("{} must be a whole number", key);
    }
    if (given->integer() < 0) return place.wrong("{} must be a whole number", key);
    return given->integer();
  }

  Result<State> integer(State from, const Place& place) {
    double least = -INFINITY, most = INFINITY;
    bool bounded = false;
    for (const auto key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
      const auto given = find(place.schema, key);
      if (!given) continue;
      if (!given->is_number()) return place.wrong("{} must be a number", key);
      const double bound = given->is(Kind::Real) ? given->real()
                           : given->is(Kind::Integer)
                               ? static_cast<double>(given->integer())
                               : static_cast<double>(static_cast<uint64_t>(given->integer()));
      constexpr double kExact = 9007199254740992.0;  // 2^53
      if (std::abs(bound) > kExact) return place.wrong("{} must lie within 2^53", key);
      bounded = true;
      const std::string_view name = key;
      if (name == "minimum") least = std::max(least, std::ceil(bound));
      if (name == "exclusiveMinimum") least = std::max(least, std::floor(bound) + 1);
      if (name == "maximum") most = std::min(most, std::floor(bound));
      if (name == "exclusiveMaximum") most = std::min(most, std::ceil(bound) - 1);
    }
    if (!bounded) return grammar::integer(nfa_, from);
    if (least > most) return place.wrong("no integer lies between its bounds");
    const auto whole = [](double x, int64_t otherwise) {
      return std::isinf(x) ? otherwise : static_cast<int64_t>(x);
    };
    return grammar::integer_between(nfa_, from, whole(least, -grammar::kLargestInteger),
                                    whole(most, grammar::kLargestInteger));
  }

  Result<State> string(State from, const Place& place) {
    ASSIGN_OR_RETURN(const int64_t least, count(place, "minLength", 0));
    ASSIGN_OR_RETURN(const int64_t most, count(place, "maxLength", grammar::kEndless));
    if (least > most) return place.wrong("minLength is more than maxLength");
    const auto pattern = find(place.schema, "pattern");
    if (!pattern) return grammar::string(nfa_, from, least, most);
    if (least > 0 || most != grammar::kEndless) {
      return place.wrong("keyword 'pattern' together with minLength or maxLength is not supported");
    }
    if (!pattern->is(Kind::String)) return place.wrong("pattern must be a string");
    auto tree = parse_regex(pattern->string(), RegexMatch::Anywhere);
    if (!tree.ok()) return tree.status().with_context("json schema: " + place.path);
    return nfa_.text(add_regex(nfa_, nfa_.text(from, "\""), **tree, grammar::character), "\"");
  }

  Result<State> array(State from, const Place& place, int depth) {
    ASSIGN_OR_RETURN(const int64_t least, count(place, "minItems", 0));
    ASSIGN_OR_RETURN(const int64_t most, count(place, "maxItems", grammar::kEndless));
    if (least > most) return place.wrong("minItems is more than maxItems");
    const auto items = find(place.schema, "items");
    const auto item = [&](State at) -> Result<State> {
      if (!items) return grammar::free_value(nfa_, at, JsonSchemaLimits::kFreeDepth - 1);
      return value(at, place.at("items", *items), depth + 1);
    };
    const State open = nfa_.text(from, "["), end = nfa_.add();
    if (least == 0) nfa_.edge(open, ']', ']', end);
    // Items that must be there, or that are counted, are written out one by one.
    const int64_t counted = most == grammar::kEndless ? std::max<int64_t>(least, 1) - 1 : most;
    State at = open;
    for (int64_t i = 1; i <= counted && !nfa_.full(); ++i) {
      if (i > 1) at = grammar::separator(nfa_, at, ',');
      ASSIGN_OR_RETURN(at, item(at));
      if (i >= least) nfa_.edge(at, ']', ']', end);
    }
    if (most != grammar::kEndless) return end;
    const State start = nfa_.add(), last = nfa_.add();
    nfa_.jump(counted > 0 ? grammar::separator(nfa_, at, ',') : open, start);
    ASSIGN_OR_RETURN(const State behind, item(start));
    nfa_.jump(behind, last);
    nfa_.jump(grammar::separator(nfa_, last, ','), start);
    nfa_.edge(last, ']', ']', end);
    return end;
  }

  struct Property {
    std::string key;
    std::optional<Place> place{};  ///< none: any value
    bool required = false;
  };

  Result<std::vector<Property>> properties(const Place& place) const {
    std::vector<Property> out;
    if (const auto given = find(place.schema, "properties")) {
      if (!given->is(Kind::Object)) return place.wrong("properties must be an object");
      for (size_t i = 0; i < given->size(); ++i) {
        const std::string_view key = given->key(i);
        out.push_back({std::string(key),
                       place.at(fmt::format("properties/{}", key), given->member(i)), false});
      }
    }
    const auto required = find(place.schema, "required");
    if (!required) return out;
    if (!required->is(Kind::Array)) return place.wrong("required must be a list of names");
    for (size_t i = 0; i < required->size(); ++i) {
      if (!required->item(i).is(Kind::String))
        return place.wrong("required must be a list of names");
      const std::string_view key = required->item(i).string();
      const auto named =
          std::find_if(out.begin(), out.end(), [&](const Property& p) { return p.key == key; });
      if (named != out.end()) {
        named->required = true;
        continue;
      }
      const auto others = find(place.schema, "additionalProperties");
      if (others && others->is(Kind::Bool) && !others->boolean()) {
        return place.wrong("'{}' is required but additionalProperties forbids it", key);
      }
      Property more{std::string(key), std::nullopt, true};
      if (others) more.place = place.at("additionalProperties", *others);
      out.push_back(std::move(more));
    }
    return out;
  }

  Result<State> object(State from, const Place& place, int depth) {
    ASSIGN_OR_RETURN(const auto all, properties(place));
    if (all.empty()) return map(from, place, depth);
    // Before the first property written, and behind one: then a comma stands between.
    std::optional<State> bare = nfa_.text(from, "{"), behind;
    for (const Property& property : all) {
      const State start = nfa_.add();
      if (bare) nfa_.jump(*bare, start);
      if (behind) nfa_.jump(grammar::separator(nfa_, *behind, ','), start);
      const State key = nfa_.text(start, grammar::quoted_json(property.key));
      State at = grammar::separator(nfa_, key, ':');
      if (property.place) {
        ASSIGN_OR_RETURN(at, value(at, *property.place, depth + 1));
      } else {
        at = grammar::free_value(nfa_, at, JsonSchemaLimits::kFreeDepth - 1);
      }
      const State next = nfa_.add();
      nfa_.jump(at, next);
      if (!property.required && behind) nfa_.jump(*behind, next);
      if (property.required) bare.reset();
      behind = next;
    }
    const State end = nfa_.add();
    if (bare) nfa_.edge(*bare, '}', '}', end);
    nfa_.edge(*behind, '}', '}', end);
    return end;
  }

  /// An object without named properties.
  Result<State> map(State from, const Place& place, int depth) {
    const auto others = find(place.schema, "additionalProperties");
    const State open = nfa_.text(from, "{"), end = nfa_.text(open, "}");
    if (others && others->is(Kind::Bool) && !others->boolean()) return end;
    const State item = nfa_.add(), last = nfa_.add();
    nfa_.jump(open, item);
    const State at =
        grammar::separator(nfa_, grammar::string(nfa_, item, 0, grammar::kEndless), ':');
    if (others && !others->is(Kind::Bool)) {
      ASSIGN_OR_RETURN(const State behind,
                       value(at, place.at("additionalProperties", *others), depth + 1));
      nfa_.jump(behind, last);
    } else {
      nfa_.jump(grammar::free_value(nfa_, at, JsonSchemaLimits::kFreeDepth - 1), last);
    }
    nfa_.jump(grammar::separator(nfa_, last, ','), item);
    nfa_.edge(last, '}', '}', end);
    return end;
  }

  ByteNfa& nfa_;
  Value root_;
  std::vector<std::string> open_;  ///< references being followed
};

}  // namespace

Result<ByteNfa::State> add_json_schema(ByteNfa& nfa, ByteNfa::State from, const JsonDoc& schema) {
  return SchemaBuilder(nfa, schema.root()).value(from, {schema.root(), "#"}, 0);
}

}  // namespace sluice
