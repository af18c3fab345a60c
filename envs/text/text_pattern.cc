#include "envs/text/text_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace sluice {
namespace {

constexpr size_t kMaxPattern = 4096;
constexpr uint32_t kMaxSteps = 1'000'000;
constexpr uint32_t kMaxHeapKib = 16 * 1024;

std::string pcre2_message(int code) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

}  // namespace

void TextPattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<TextPattern> TextPattern::compile(const std::string& pattern) {
  if (pattern.size() > kMaxPattern) {
    return invalid_argument("a pattern of {} bytes; at most {} are taken", pattern.size(),
                            kMaxPattern);
  }
  int code = 0;
  PCRE2_SIZE at = 0;
  TextPattern out;
  out.text_ = pattern;
  out.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                PCRE2_DOTALL | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                &code, &at, nullptr));
  if (!out.code_) {
    return invalid_argument("pattern '{}', at byte {}: {}", pattern, at, pcre2_message(code));
  }
  return out;
}

Result<bool> TextPattern::found_in(std::string_view text) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> bounds(
      pcre2_match_context_create(nullptr), pcre2_match_context_free);
  pcre2_set_match_limit(bounds.get(), kMaxSteps);
  pcre2_set_heap_limit(bounds.get(), kMaxHeapKib);
  const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                0, 0, data.get(), bounds.get());
  if (found >= 0) return true;
  if (found == PCRE2_ERROR_NOMATCH) return false;
  return error(Code::ResourceExhausted, "pattern '{}' on a text of {} bytes: {}", text_,
               text.size(), pcre2_message(found));
}

}  // namespace sluice
