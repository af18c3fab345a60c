#pragma once
#include "dataflow/base/shared_cache.h"
#include "inference/sampler/constraint/constraint.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// Compiled constraints that were asked for lately, up to kMaxBytes of memory. Compiling takes up
/// to a second, so it is for the threads of clients, not for the engine's. Any thread.
class ConstraintCache {
 public:
  static constexpr size_t kMaxBytes = size_t{128} << 20;
  static constexpr size_t kMaxText = size_t{1} << 18;  ///< bytes of a schema, or of all choices

  using Made = Result<std::shared_ptr<const Constraint>>;

  [[nodiscard]] Made regex(std::string_view pattern);
  [[nodiscard]] Made json_schema(std::string_view schema);
  [[nodiscard]] Made json_object();
  [[nodiscard]] Made choice(std::span<const std::string> texts);

  /// Constraints it holds.
  [[nodiscard]] size_t size() { return cache_.size(); }

 private:
  template <class Make>
  Made get(std::string key, const Make& make);

  SharedCache<Constraint> cache_{kMaxBytes};
};

}  // namespace sluice
