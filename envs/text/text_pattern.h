#pragma once
#include "dataflow/base/result.h"

#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace sluice {

/// A Perl regular expression for the form of a response. "." takes line ends too; text need not be
/// valid UTF-8. Matching is bounded in steps and memory. Immutable; any thread.
class TextPattern {
 public:
  /// InvalidArgument names what is wrong and where.
  static Result<TextPattern> compile(const std::string& pattern);

  /// Whether it matches anywhere (anchor it with ^ and $ where it must not). ResourceExhausted when
  /// it takes too many steps.
  [[nodiscard]] Result<bool> found_in(std::string_view text) const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::string text_;
};

}  // namespace sluice
