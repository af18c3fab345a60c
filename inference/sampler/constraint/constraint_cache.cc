#include "inference/sampler/constraint/constraint_cache.h"

namespace sluice {

template <class Make>
ConstraintCache::Made ConstraintCache::get(std::string key, const Make& make) {
  if (key.size() > kMaxText) {
    return invalid_argument("it has {} bytes; at most {} are taken", key.size() - 1, kMaxText - 1);
  }
  if (auto found = cache_.find(key)) return found;
  ASSIGN_OR_RETURN(auto made, make());
  cache_.put(std::move(key), made, made->bytes());
  return made;
}

ConstraintCache::Made ConstraintCache::regex(std::string_view pattern) {
  return get(fmt::format("r{}", pattern), [&] { return Constraint::regex(pattern); });
}

ConstraintCache::Made ConstraintCache::json_schema(std::string_view schema) {
  return get(fmt::format("s{}", schema), [&] { return Constraint::json_schema(schema); });
}

ConstraintCache::Made ConstraintCache::json_object() {
  return get("o", [] { return Constraint::json_object(); });
}

ConstraintCache::Made ConstraintCache::choice(std::span<const std::string> texts) {
  std::string key = "c";
  for (const std::string& text : texts) key += fmt::format("{}:{}", text.size(), text);
  return get(std::move(key), [&] { return Constraint::choice(texts); });
}

}  // namespace sluice
