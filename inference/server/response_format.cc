#include "inference/server/response_format.h"

#include "models/json/strict_json.h"

#include <string>
#include <vector>

namespace sluice {
namespace {

using FormatJson = nlohmann::json;
using OrderedFormat = nlohmann::ordered_json;
using Made = Result<std::shared_ptr<const Constraint>>;

/// Compiles what one field says. `path` leads to it, from the body.
class FormatReader {
 public:
  FormatReader(std::string_view body, ConstraintCache& cache) : body_(body), cache_(cache) {}

  Made response_format(const FormatJson& format) const {
    if (!format.is_object() || !format.contains("type") || !format["type"].is_string()) {
      return invalid_argument("'response_format' must be an object with a 'type'");
    }
    BodyFields fields(format, "response_format.");
    const std::string type = format["type"].get<std::string>();
    static_cast<void>(fields.find("type"));
    if (type == "json_schema") {
      const FormatJson* given = fields.find("json_schema");
      RETURN_IF_ERROR(fields.status());
      return named_schema(given);
    }
    RETURN_IF_ERROR(fields.status());
    if (type == "text") return std::shared_ptr<const Constraint>();
    if (type == "json_object") return cache_.json_object();
    return invalid_argument(
        "'response_format' of type '{}' is not supported: text, json_object or json_schema", type);
  }

  Made structured(const FormatJson& given) const {
    if (!given.is_object()) return invalid_argument("'structured_outputs' must be an object");
    BodyFields fields(given, "structured_outputs.");
    const FormatJson* const json = fields.find("json");
    const FormatJson* const regex = fields.find("regex");
    const FormatJson* const choice = fields.find("choice");
    bool object = false;
    fields.read("json_object", object);
    RETURN_IF_ERROR(fields.status());
    const int count = (json != nullptr) + (regex != nullptr) + (choice != nullptr) + object;
    if (count != 1) {
      return invalid_argument(
          "'structured_outputs' must have one of json, json_object, regex and choice");
    }
    if (json != nullptr) return schema(*json, {"structured_outputs", "json"});
    if (regex != nullptr) return pattern(*regex, "structured_outputs.regex");
    if (choice != nullptr) return choices(*choice, "structured_outputs.choice");
    return cache_.json_object();
  }

  using Path = std::vector<std::string>;

  /// A schema, or the text of one.
  Made schema(const FormatJson& given, const Path& path) const {
    const std::string name = fmt::format("{}", fmt::join(path, "."));
    if (given.is_string()) {
      return in_field(name, cache_.json_schema(given.get_ref<const std::string&>()));
    }
    ASSIGN_OR_RETURN(const OrderedFormat ordered, parse_ordered_json(body_));
    const OrderedFormat* at = &ordered;
    for (const std::string& key : path) at = &at->at(key);
    return in_field(name, cache_.json_schema(at->dump()));
  }

  Made pattern(const FormatJson& given, const char* name) const {
    if (!given.is_string()) return invalid_argument("'{}' must be a string", name);
    return in_field(name, cache_.regex(given.get_ref<const std::string&>()));
  }

  Made choices(const FormatJson& given, const char* name) const {
    std::vector<std::string> texts;
    for (const FormatJson& text : given.is_array() ? given : FormatJson::array()) {
      if (text.is_string()) texts.push_back(text.get<std::string>());
    }
    if (!given.is_array() || texts.empty() || texts.size() != given.size()) {
      return invalid_argument("'{}' must be a list of strings", name);
    }
    return in_field(name, cache_.choice(texts));
  }

 private:
  static Made in_field(const std::string& name, Made made) {
    if (made.ok()) return made;
    // ResourceExhausted here means a text that is too complicated: the client's fault, too.
    return invalid_argument("'{}': {}", name, made.status().message());
  }

  Made named_schema(const FormatJson* given) const {
    if (given == nullptr || !given->is_object()) {
      return invalid_argument("'response_format.json_schema' must be an object");
    }
    BodyFields fields(*given, "response_format.json_schema.");
    std::string text;
    bool strict = false;
    fields.read("name", text);
    fields.read("description", text);
    fields.read("strict", strict);
    const FormatJson* const schema_given = fields.find("schema");
    RETURN_IF_ERROR(fields.status());
    if (schema_given == nullptr) {
      return invalid_argument("'response_format.json_schema' has no 'schema'");
    }
    return schema(*schema_given, {"response_format", "json_schema", "schema"});
  }

  std::string_view body_;
  ConstraintCache& cache_;
};

}  // namespace

Result<std::shared_ptr<const Constraint>> read_response_format(BodyFields& fields,
                                                               std::string_view body,
                                                               ConstraintCache& cache) {
  const FormatReader reader(body, cache);
  std::shared_ptr<const Constraint> constraint;
  std::string said;
  const auto take = [&](const char* name, const auto& read) -> Status {
    const FormatJson* const given = fields.find(name);
    if (given == nullptr) return {};
    ASSIGN_OR_RETURN(auto made, read(*given));
    if (made == nullptr) return {};
    if (constraint != nullptr) {
      return invalid_argument("'{}' and '{}' cannot both be given", said, name);
    }
    constraint = std::move(made);
    said = name;
    return {};
  };
  using Json = FormatJson;
  RETURN_IF_ERROR(
      take("response_format", [&](const Json& g) { return reader.response_format(g); }));
  RETURN_IF_ERROR(take("structured_outputs", [&](const Json& g) { return reader.structured(g); }));
  RETURN_IF_ERROR(
      take("guided_json", [&](const Json& g) { return reader.schema(g, {"guided_json"}); }));
  RETURN_IF_ERROR(
      take("guided_regex", [&](const Json& g) { return reader.pattern(g, "guided_regex"); }));
  RETURN_IF_ERROR(
      take("guided_choice", [&](const Json& g) { return reader.choices(g, "guided_choice"); }));
  return constraint;
}

}  // namespace sluice
