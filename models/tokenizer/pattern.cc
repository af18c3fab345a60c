#include "models/tokenizer/pattern.h"

#include "models/tokenizer/utf8.h"

#include <algorithm>

namespace sluice {

Result<Pattern> Pattern::from_json(const JsonFields& owner, std::string_view key) {
  const std::string path = owner.path() + "." + std::string(key);
  const auto value = owner.find(key);
  if (!value) return owner.wrong(key, "is missing");
  ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(*value, path));
  if (value->size() != 1) return owner.wrong(key, "is not {\"String\": ..} or {\"Regex\": ..}");
  if (fields.find("String")) {
    ASSIGN_OR_RETURN(std::string text, fields.text("String"));
    return literal(std::move(text));
  }
  if (fields.find("Regex")) {
    ASSIGN_OR_RETURN(const std::string text, fields.text("Regex"));
    return regex(text, path + ".Regex");
  }
  return owner.wrong(key,
                     fmt::format("unknown kind {}; known: String, Regex", quoted(value->key(0))));
}

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.source_ = std::move(text);
  return pattern;
}

Result<Pattern> Pattern::regex(std::string_view text, std::string_view path) {
  Pattern pattern;
  pattern.source_ = text;
  ASSIGN_OR_RETURN(pattern.regex_, Regex::compile(text, path));
  return pattern;
}

Status Pattern::find_all(std::string_view text, std::vector<TextSpan>& out) const {
  if (regex_) return regex_->find_all(text, out);
  if (source_.empty()) {
    // The empty pattern matches between all characters.
    for (size_t i = 0; i < text.size(); i += utf8::length_of(text[i])) out.push_back({i, i});
    if (!text.empty()) out.push_back({text.size(), text.size()});
    return {};
  }
  for (size_t at = 0; (at = text.find(source_, at)) != std::string_view::npos;) {
    out.push_back({at, at + source_.size()});
    at += source_.size();
  }
  return {};
}

Status Pattern::replace_all(std::string& text, std::string_view content, size_t most) const {
  std::vector<TextSpan> matches;
  RETURN_IF_ERROR(find_all(text, matches));
  if (matches.empty()) return {};
  size_t size = text.size() + matches.size() * content.size();
  for (const TextSpan& m : matches) size -= m.end - m.begin;
  if (size > most && size > text.size()) {
    return error(Code::ResourceExhausted, "replacing {} makes {} bytes of {}", quoted(source_),
                 size, text.size());
  }
  std::string out;
  out.reserve(size);
  size_t at = 0;
  for (const TextSpan& m : matches) {
    out.append(text, at, m.begin - at);
    out += content;
    at = m.end;
  }
  out.append(text, at, std::string::npos);
  text = std::move(out);
  return {};
}

Result<SplitBehavior> split_behavior(const JsonFields& owner, std::string_view key) {
  ASSIGN_OR_RETURN(const std::string text, owner.text(key));
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous},
  };
  for (const auto& [known, behavior] : kNames) {
    if (known == text) return behavior;
  }
  return owner.wrong(key, fmt::format("unknown {}; known: Removed, Isolated, MergedWithPrevious, "
                                      "MergedWithNext, Contiguous",
                                      quoted(text)));
}

void split(size_t size, const std::vector<TextSpan>& matches, SplitBehavior behavior, bool invert,
           std::vector<TextSpan>& out) {
  struct Part {
    TextSpan span;
    bool matched;
  };
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  size_t at = 0;
  for (const TextSpan& m : matches) {
    if (at < m.begin) parts.push_back({{at, m.begin}, invert});
    parts.push_back({m, !invert});
    at = m.end;
  }
  if (at < size) parts.push_back({{at, size}, invert});

  const size_t before = out.size();
  bool last = false;
  const auto join = [&](const Part& part, bool to_last, bool backwards) {
    if (to_last && out.size() > before) {
      (backwards ? out.back().begin : out.back().end) = backwards ? part.span.begin : part.span.end;
    } else {
      out.push_back(part.span);
    }
    last = part.matched;
  };
  switch (behavior) {
    case SplitBehavior::Removed:
      for (const Part& part : parts) {
        if (!part.matched) out.push_back(part.span);
      }
      break;
    case SplitBehavior::Isolated:
      for (const Part& part : parts) out.push_back(part.span);
      break;
    case SplitBehavior::Contiguous:
      for (const Part& part : parts) join(part, part.matched == last, false);
      break;
    case SplitBehavior::MergedWithPrevious:
      for (const Part& part : parts) join(part, part.matched && !last, false);
      break;
    case SplitBehavior::MergedWithNext:
      std::for_each(parts.rbegin(), parts.rend(),
                    [&](const Part& part) { join(part, part.matched && !last, true); });
      std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
      break;
  }
  out.erase(std::remove_if(out.begin() + static_cast<ptrdiff_t>(before), out.end(),
                           [](const TextSpan& s) { return s.begin == s.end; }),
            out.end());
}

}  // namespace sluice
