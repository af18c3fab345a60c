#pragma once
#include "dataflow/base/result.h"

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace sluice {

/// A regular expression that a whole module name must match, as PEFT's target_modules may be one.
/// Matching is bounded in steps. Immutable; any thread.
class NamePattern {
 public:
  /// InvalidArgument with the position of what is wrong.
  static Result<NamePattern> compile(const std::string& pattern);
  /// The same, with anything that ends in a dot allowed before it: how PEFT reads rank_pattern.
  static Result<NamePattern> compile_suffix(const std::string& pattern);

  /// ResourceExhausted when it takes too many steps.
  [[nodiscard]] Result<bool> matches(std::string_view name) const;

 private:
  static Result<NamePattern> compile(const std::string& shown, const std::string& pattern);

  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::string text_;
};

}  // namespace sluice
