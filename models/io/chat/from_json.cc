#include "models/io/chat/from_json.h"

#include <nlohmann/json.hpp>

namespace sluice::jinja {

namespace {

constexpr int kMaxDepth = 100;

Value convert(Runtime& rt, const nlohmann::ordered_json& json, int depth) {
  using Type = nlohmann::ordered_json::value_t;
  if (depth > kMaxDepth)
    return rt.fail(fmt::format("the messages are nested more than {} deep", kMaxDepth));
  if (!rt.step()) return Value::failed();
  switch (json.type()) {
    case Type::null:
      return Value::none();
    case Type::boolean:
      return Value::boolean(json.get<bool>());
    case Type::number_integer:
      return Value::integer(json.get<int64_t>());
    case Type::number_unsigned: {
      const auto number = json.get<uint64_t>();
      if (number > INT64_MAX) return rt.fail("a number in the messages needs more than 64 bits");
      return Value::integer(static_cast<int64_t>(number));
    }
    case Type::number_float:
      return Value::real(json.get<double>());
    case Type::string:
      return rt.str_view(json.get_ref<const std::string&>());
    case Type::array: {
      if (!rt.charge_items(static_cast<int64_t>(json.size()), sizeof(Value)))
        return Value::failed();
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& part : json) {
        items.push_back(convert(rt, part, depth + 1));
        if (items.back().is(Kind::Failed)) return Value::failed();
      }
      return rt.list(std::move(items));
    }
    case Type::object: {
      Dict dict;
      dict.reserve(json.size());
      for (auto it = json.begin(); it != json.end(); ++it) {
        const Value key = rt.str_view(it.key());
        const Value value = key.is(Kind::Failed) ? key : convert(rt, it.value(), depth + 1);
        if (value.is(Kind::Failed)) return value;
        dict.set(key, value);
      }
      return rt.dict(std::move(dict));
    }
    default:
      return rt.fail("binary data in the messages");
  }
}

}  // namespace

Value from_json(Runtime& rt, const nlohmann::ordered_json& json) { return convert(rt, json, 0); }

}  // namespace sluice::jinja
