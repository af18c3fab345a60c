#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/tokenizer/regex.h"

#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/unicode.h"
#include "models/tokenizer/utf8.h"

#include <pcre2.h>

namespace sluice {
namespace {

constexpr size_t kMaxPattern = 1 << 16;
constexpr uint32_t kMaxSteps = 20'000'000;

std::string message_of(int code) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

template <class T, void (*F)(T*)>
struct FreeWith {
  void operator()(T* p) const { F(p); }
};
using MatchData =
    std::unique_ptr<pcre2_match_data, FreeWith<pcre2_match_data, pcre2_match_data_free>>;
using MatchContext =
    std::unique_ptr<pcre2_match_context, FreeWith<pcre2_match_context, pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context,
                                       FreeWith<pcre2_compile_context, pcre2_compile_context_free>>;

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<Regex> Regex::compile(std::string_view pattern, std::string_view path) {
  if (pattern.size() > kMaxPattern) {
    return invalid_argument("{}: a pattern of {} bytes; at most {} are taken", path, pattern.size(),
                            kMaxPattern);
  }
  ASSIGN_OR_RETURN(const std::string translated, translate_regex(pattern, path));
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int code = 0;
  size_t offset = 0;
  Regex regex;
  // Oniguruma's ^ and $ stand at lines.
  regex.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                  translated.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                  &code, &offset, context.get()));
  if (!regex.code_) {
    return invalid_argument("{}: {} in the pattern {}", path, message_of(code), quoted(pattern));
  }
  // Where there is no compiler for this processor the interpreter matches.
  pcre2_jit_compile(regex.code_.get(), PCRE2_JIT_COMPLETE);
  return regex;
}

Status Regex::find_all(std::string_view text, std::vector<TextSpan>& out) const {
  std::string replaced;
  if (unicode::proxy_for_regex(text, replaced)) text = replaced;
  const MatchData data(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMaxSteps);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t at = 0;
  size_t last = SIZE_MAX;
  while (at <= text.size()) {
    int found = pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, data.get(),
                            context.get());
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          data.get(), context.get());
    }
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      return error(Code::ResourceExhausted, "matching the pre-tokenizer's pattern at byte {}: {}",
                   at, message_of(found));
    }
    const size_t* ends = pcre2_get_ovector_pointer(data.get());
    if (ends[0] == ends[1] && ends[1] == last) {
      at += at < text.size() ? utf8::length_of(text[at]) : 1;
      continue;
    }
    // \K may put the beginning behind the end.
    out.push_back({std::min(ends[0], ends[1]), ends[1]});
    at = last = ends[1];
  }
  return {};
}

}  // namespace sluice
