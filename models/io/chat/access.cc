#include "models/io/chat/access.h"

#include "models/io/chat/library.h"
#include "models/io/chat/literals.h"
#include "models/io/chat/scope.h"
#include "models/io/chat/unicode.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace sluice::jinja {

namespace {

// The members of `loop` that are not methods.
std::optional<Value> loop_member(Runtime& rt, const Loop& loop, std::string_view name) {
  const auto length = static_cast<int64_t>(loop.items.size());
  const int64_t index0 = loop.index0;
  if (name == "index") return Value::integer(index0 + 1);
  if (name == "index0") return Value::integer(index0);
  if (name == "revindex") return Value::integer(length - index0);
  if (name == "revindex0") return Value::integer(length - index0 - 1);
  if (name == "first") return Value::boolean(index0 == 0);
  if (name == "last") return Value::boolean(index0 + 1 >= length);
  if (name == "length") return Value::integer(length);
  if (name == "depth") return Value::integer(1);
  if (name == "depth0") return Value::integer(0);
  if (name == "previtem") {
    if (index0 <= 0) return rt.undefined("there is no previous item");
    return loop.items[static_cast<size_t>(index0 - 1)];
  }
  if (name == "nextitem") {
    if (index0 + 1 >= length) return rt.undefined("there is no next item");
    return loop.items[static_cast<size_t>(index0 + 1)];
  }
  return std::nullopt;
}

// What getattr() finds, without falling back to items.
std::optional<Value> member(Runtime& rt, const Value& subject, std::string_view name) {
  if (subject.is(Kind::Namespace)) {
    const Value* const value = subject.space().find(name);
    if (value != nullptr) return *value;
    return std::nullopt;
  }
  if (subject.is(Kind::Loop)) {
    if (const auto value = loop_member(rt, subject.loop(), name)) return value;
  }
  if (subject.is(Kind::Macro) && name == "name") return rt.str(subject.macro().signature->name);
  if (const Function* const function = find_method(subject.kind(), name)) {
    return rt.method(subject, function);
  }
  // Python has these, and Jinja's sandbox keeps them from changing what was given: undefined, even
  // where a dict has a key of that name.
  static constexpr std::string_view kListChangers[] = {"append", "clear",  "extend",  "insert",
                                                       "pop",    "remove", "reverse", "sort"};
  static constexpr std::string_view kDictChangers[] = {"clear", "pop", "popitem", "setdefault",
                                                       "update"};
  const auto is_in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if ((subject.is(Kind::List) && is_in(kListChangers)) ||
      (subject.is(Kind::Dict) && is_in(kDictChangers))) {
    return rt.undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe", name,
                                    type_name(subject.kind())));
  }
  return std::nullopt;
}

// Python's slice.indices(): the items first, first + step, .. (count of them) of `length`.
struct Cut {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};
std::optional<Cut> cut(Runtime& rt, const std::vector<Value>& parts, int64_t length) {
  for (const Value& part : parts) {
    if (!part.is(Kind::None) && !part.is_integral()) {
      rt.fail("slice indices must be integers or None");
      return std::nullopt;
    }
  }
  const int64_t step = parts[2].is(Kind::None) ? 1 : parts[2].integer();
  if (step == 0) {
    rt.fail("slice step cannot be zero");
    return std::nullopt;
  }
  const int64_t low = step < 0 ? -1 : 0;
  const int64_t high = step < 0 ? length - 1 : length;
  const auto bound = [&](const Value& part, int64_t otherwise) {
    if (part.is(Kind::None)) return otherwise;
    const int64_t index = part.integer();
    return index < 0 ? (index < low - length ? low : std::max(index + length, low))
                     : std::min(index, high);
  };
  const int64_t start = bound(parts[0], step < 0 ? high : low);
  const int64_t stop = bound(parts[1], step < 0 ? low : high);
  Cut result{start, step, 0};
  // The distances are at most length + 1, so only the step may be huge.
  if (step > 0 && stop > start) result.count = (stop - start - 1) / step + 1;
  if (step < 0 && stop < start) result.count = (stop - start + 1) / step + 1;
  return result;
}

Value sliced_text(Runtime& rt, std::string_view text, const std::vector<Value>& parts) {
  if (!rt.step_bytes(text.size())) return Value::failed();
  const auto range = cut(rt, parts, code_points(text));
  if (!range) return Value::failed();
  if (range->count == 0) return rt.str({});
  if (range->step == 1) {
    const size_t begin = byte_offset(text, range->first);
    const std::string_view rest = text.substr(begin);
    return rt.str_view(rest.substr(0, byte_offset(rest, range->count)));
  }
  std::string out;
  if (range->step == -1) {
    size_t at = byte_offset(text, range->first + 1);
    for (int64_t i = 0; i < range->count; ++i) {
      const size_t before = previous_offset(text, at);
      out += text.substr(before, at - before);
      at = before;
    }
    return rt.str(std::move(out));
  }
  std::vector<size_t> offsets;
  if (!rt.charge_items(static_cast<int64_t>(text.size()), sizeof(size_t))) return Value::failed();
  for (size_t at = 0; at < text.size(); at += code_point_at(text, at).size) offsets.push_back(at);
  offsets.push_back(text.size());
  for (int64_t i = 0; i < range->count; ++i) {
    const auto at = static_cast<size_t>(range->first + i * range->step);
    out += text.substr(offsets[at], offsets[at + 1] - offsets[at]);
  }
  return rt.str(std::move(out));
}

std::optional<Value> sliced(Runtime& rt, const Value& subject, const std::vector<Value>& parts) {
  if (subject.is(Kind::String)) return sliced_text(rt, subject.text(), parts);
  if (subject.is(Kind::Range)) {
    const auto range = cut(rt, parts, subject.range().length);
    if (!range) return Value::failed();
    const Range& whole = subject.range();
    int64_t step = 0;
    int64_t span = 0;
    int64_t stop = 0;
    const int64_t first = range->count == 0 ? whole.start : whole.start + range->first * whole.step;
    if (__builtin_mul_overflow(whole.step, range->step, &step) ||
        __builtin_mul_overflow(step, range->count, &span) ||
        __builtin_add_overflow(first, span, &stop)) {
      return rt.fail("a range beyond 64-bit integers");
    }
    return rt.range(first, stop, step, range->count);
  }
  if (!subject.is_sequence()) return std::nullopt;
  const auto range = cut(rt, parts, static_cast<int64_t>(subject.items().size()));
  if (!range) return Value::failed();
  if (!rt.step(range->count) || !rt.charge_items(range->count, sizeof(Value)))
    return Value::failed();
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(range->count));
  for (int64_t i = 0; i < range->count; ++i) {
    items.push_back(subject.items()[static_cast<size_t>(range->first + i * range->step)]);
  }
  return subject.is(Kind::List) ? rt.list(std::move(items)) : rt.tuple(std::move(items));
}

// subject[index]; nothing where Python raises TypeError or LookupError.
std::optional<Value> subscript(Runtime& rt, const Value& subject, const Value& index) {
  if (subject.is(Kind::Dict)) {
    if (!Dict::hash(index)) return std::nullopt;
    const Value* const value = subject.dict().find(index);
    if (value == nullptr) return std::nullopt;
    return *value;
  }
  if (index.is(Kind::Slice)) return sliced(rt, subject, index.items());
  const int64_t length = length_of(subject);
  if (length < 0 || !index.is_integral()) return std::nullopt;
  const int64_t at = index.integer() < 0 ? index.integer() + length : index.integer();
  if (at < 0 || at >= length) return std::nullopt;
  if (subject.is_sequence()) return subject.items()[static_cast<size_t>(at)];
  if (subject.is(Kind::Range)) {
    return Value::integer(subject.range().start + at * subject.range().step);
  }
  if (!subject.is(Kind::String) || !rt.step_bytes(subject.text().size())) return std::nullopt;
  const size_t offset = byte_offset(subject.text(), at);
  return rt.str_view(subject.text().substr(offset, code_point_at(subject.text(), offset).size));
}

}  // namespace

Value attribute(Runtime& rt, const Value& subject, const Str& name) {
  if (subject.is(Kind::Undefined)) return rt.fail_undefined(subject);
  if (auto value = member(rt, subject, name.view)) return *value;
  if (subject.is(Kind::Dict)) {
    if (const Value* const value = subject.dict().find(name.view)) return *value;
  }
  return Value::undefined(&name, subject.kind());
}

Value item(Runtime& rt, const Value& subject, const Value& index) {
  if (subject.is(Kind::Undefined)) return rt.fail_undefined(subject);
  if (auto value = subscript(rt, subject, index)) return *value;
  if (rt.failed()) return Value::failed();
  if (index.is(Kind::String)) {
    if (auto value = member(rt, subject, index.text())) return *value;
    return Value::undefined(index.str(), subject.kind());
  }
  return rt.undefined(fmt::format("'{}' object has no such element", type_name(subject.kind())));
}

Value follow(Runtime& rt, Value subject, const Value& path) {
  if (!path.is(Kind::String)) return item(rt, subject, path);
  std::string_view rest = path.text();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    int64_t number = 0;
    bool overflow = false;
    const bool digits =
        !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    const bool numeric = digits && parse_int(part, 10, number, overflow);
    const Value key = numeric ? Value::integer(number) : rt.str(std::string(part));
    if (key.failed_or_missing()) return key;
    subject = item(rt, subject, key);
    if (subject.failed_or_missing() || dot == std::string_view::npos) return subject;
    rest.remove_prefix(dot + 1);
  }
}

bool iterate(Runtime& rt, const Value& value, std::vector<Value>& items) {
  const auto reserve = [&](int64_t count) {
    if (!rt.step(count) || !rt.charge_items(count, sizeof(Value))) return false;
    items.reserve(items.size() + static_cast<size_t>(count));
    return true;
  };
  switch (value.kind()) {
    case Kind::Undefined:
      return true;
    case Kind::List:
    case Kind::Tuple:
      if (!reserve(static_cast<int64_t>(value.items().size()))) return false;
      items.insert(items.end(), value.items().begin(), value.items().end());
      return true;
    case Kind::String:
      if (!reserve(code_points(value.text()))) return false;
      for (size_t at = 0; at < value.text().size();) {
        const size_t size = code_point_at(value.text(), at).size;
        items.push_back(rt.str_view(value.text().substr(at, size)));
        if (rt.failed()) return false;
        at += size;
      }
      return true;
    case Kind::Dict:
      if (!reserve(static_cast<int64_t>(value.dict().size()))) return false;
      for (const auto& [key, unused] : value.dict().entries()) items.push_back(key);
      return true;
    case Kind::View: {
      const View& view = value.view();
      if (!reserve(static_cast<int64_t>(view.dict->size()))) return false;
      for (const auto& [key, content] : view.dict->entries()) {
        items.push_back(view.what == View::What::Keys     ? key
                        : view.what == View::What::Values ? content
                                                          : rt.tuple({key, content}));
      }
      return !rt.failed();
    }
    case Kind::Range:
      if (!reserve(value.range().length)) return false;
      for (int64_t i = 0; i < value.range().length; ++i) {
        items.push_back(Value::integer(value.range().start + i * value.range().step));
      }
      return true;
    case Kind::Iterator: {
      Iterator& it = value.iterator();
      if (!reserve(static_cast<int64_t>(it.items.size() - it.next))) return false;
      items.insert(items.end(), it.items.begin() + static_cast<ptrdiff_t>(it.next), it.items.end());
      it.next = it.items.size();
      return true;
    }
    default:
      rt.fail(fmt::format("'{}' object is not iterable", type_name(value.kind())));
      return false;
  }
}

int64_t length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return 0;
    case Kind::String:
      return code_points(value.text());
    case Kind::List:
    case Kind::Tuple:
      return static_cast<int64_t>(value.items().size());
    case Kind::Dict:
      return static_cast<int64_t>(value.dict().size());
    case Kind::Range:
      return value.range().length;
    case Kind::View:
      return static_cast<int64_t>(value.view().dict->size());
    case Kind::Loop:
      return static_cast<int64_t>(value.loop().items.size());
    default:
      return -1;
  }
}

size_t find_text(std::string_view text, std::string_view needle, size_t from) noexcept {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // memmem is linear where string_view::find is quadratic in the worst case.
  const void* const found =
      memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace sluice::jinja
