#include "inference/sampler/constraint/json_grammar.h"

#include "dataflow/base/result.h"
#include "inference/sampler/constraint/regex_tree.h"

#include <algorithm>
#include <string>

namespace sluice::json_grammar {
namespace {

const CodePoints& specials() {
  static const CodePoints set = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  return set;
}

std::string escaped(unsigned char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", c);
  }
}

State one_of(ByteNfa& nfa, State from, std::string_view bytes, State to) {
  for (const char c : bytes) {
    nfa.edge(from, static_cast<unsigned char>(c), static_cast<unsigned char>(c), to);
  }
  return to;
}

State hex_digit(ByteNfa& nfa, State from) {
  return one_of(nfa, from, "0123456789abcdefABCDEF", nfa.add());
}

State add(ByteNfa& nfa, State from, std::string_view pattern) {
  const auto tree = parse_regex(pattern, RegexMatch::Whole);
  SLUICE_CHECK(tree.ok()) << tree.status().message();
  return add_regex(nfa, from, **tree, [](ByteNfa& n, State at, const CodePoints& set) {
    return n.character(at, set);
  });
}

/// All numbers between two of as many digits.
void digits_between(ByteNfa& nfa, State from, std::string_view low, std::string_view high,
                    State to) {
  if (low.empty()) return nfa.jump(from, to);
  const auto all = [](std::string_view text, char digit) {
    return text.find_first_not_of(digit) == std::string_view::npos;
  };
  const auto edge = [&](char first, char last) {
    const State next = nfa.add();
    nfa.edge(from, static_cast<unsigned char>(first), static_cast<unsigned char>(last), next);
    return next;
  };
  const std::string_view low_rest = low.substr(1), high_rest = high.substr(1);
  const std::string zeros(low_rest.size(), '0'), nines(low_rest.size(), '9');
  char first = low[0], last = high[0];
  if (first == last) return digits_between(nfa, edge(first, last), low_rest, high_rest, to);
  if (!all(low_rest, '0')) {
    digits_between(nfa, edge(first, first), low_rest, nines, to);
    ++first;
  }
  if (!all(high_rest, '9')) {
    digits_between(nfa, edge(last, last), zeros, high_rest, to);
    --last;
  }
  if (first > last) return;
  // The rest is free.
  State at = edge(first, last);
  for (size_t i = 0; i < low_rest.size(); ++i) {
    const State next = nfa.add();
    nfa.edge(at, '0', '9', next);
    at = next;
  }
  nfa.jump(at, to);
}

/// 0 <= least <= most.
void magnitude(ByteNfa& nfa, State from, int64_t least, int64_t most, State to) {
  for (int64_t first = 0, last = 9;; first = last + 1, last = 10 * last + 9) {
    if (least <= last && most >= first) {
      digits_between(nfa, from, fmt::format("{}", std::max(first, least)),
                     fmt::format("{}", std::min(last, most)), to);
    }
    if (last >= most) return;
  }
}

}  // namespace

State character(ByteNfa& nfa, State from, const CodePoints& set) {
  const State to = nfa.character(from, set.without(specials()));
  const CodePoints special = set.common(specials());
  for (const auto& [first, last] : special.ranges()) {
    for (uint32_t c = first; c <= last; ++c) {
      nfa.jump(nfa.text(from, escaped(static_cast<unsigned char>(c))), to);
    }
  }
  return to;
}

State free_character(ByteNfa& nfa, State from) {
  const State to = nfa.character(from, specials().inverted());
  const State escape = nfa.text(from, "\\");
  one_of(nfa, escape, "\"\\/bfnrt", to);
  const State hex = nfa.text(escape, "u");
  const State two = nfa.add();  // two digits to go
  nfa.jump(hex_digit(nfa, one_of(nfa, hex, "0123456789abcefABCEF", nfa.add())), two);
  nfa.jump(one_of(nfa, one_of(nfa, hex, "dD", nfa.add()), "01234567", nfa.add()), two);
  nfa.jump(hex_digit(nfa, hex_digit(nfa, two)), to);
  return to;
}

State string(ByteNfa& nfa, State from, int64_t least, int64_t most) {
  State at = nfa.text(from, "\"");
  for (int64_t i = 0; i < least && !nfa.full(); ++i) at = free_character(nfa, at);
  const State last = nfa.add();
  nfa.jump(at, last);
  if (most == kEndless) {
    nfa.jump(free_character(nfa, last), last);
  } else {
    for (int64_t i = least; i < most && !nfa.full(); ++i) {
      at = free_character(nfa, at);
      nfa.jump(at, last);
    }
  }
  return nfa.text(last, "\"");
}

State integer(ByteNfa& nfa, State from) { return add(nfa, from, "0|-?[1-9][0-9]{0,17}"); }

State integer_between(ByteNfa& nfa, State from, int64_t least, int64_t most) {
  const State to = nfa.add();
  if (most >= 0) magnitude(nfa, from, std::max<int64_t>(least, 0), most, to);
  if (least < 0) {
    magnitude(nfa, nfa.text(from, "-"), std::max<int64_t>(1, -most), -least, to);
  }
  return to;
}

State number(ByteNfa& nfa, State from) {
  return add(nfa, from, R"(-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][+\-]?[0-9]{1,2})?)");
}

State either(ByteNfa& nfa, State from, std::string_view a, std::string_view b) {
  const State end = nfa.text(from, a);
  nfa.jump(nfa.text(from, b), end);
  return end;
}

State separator(ByteNfa& nfa, State from, char mark) {
  const State at = nfa.text(from, std::string_view(&mark, 1));
  const State end = nfa.text(at, " ");
  nfa.jump(at, end);
  return end;
}

std::string quoted_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || c == '"' || c == '\\') {
      out += escaped(byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

State literal(ByteNfa& nfa, State from, JsonDoc::Value value) {
  switch (value.kind()) {
    case JsonDoc::Kind::Null:
      return nfa.text(from, "null");
    case JsonDoc::Kind::Bool:
      return nfa.text(from, value.boolean() ? "true" : "false");
    case JsonDoc::Kind::Integer:
      return nfa.text(from, fmt::format("{}", value.integer()));
    case JsonDoc::Kind::Unsigned:
      return nfa.text(from, fmt::format("{}", static_cast<uint64_t>(value.integer())));
    case JsonDoc::Kind::Real:
      return nfa.text(from, fmt::format("{}", value.real()));
    case JsonDoc::Kind::String:
      return nfa.text(from, quoted_json(value.string()));
    case JsonDoc::Kind::Array:
      from = nfa.text(from, "[");
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) from = separator(nfa, from, ',');
        from = literal(nfa, from, value.item(i));
      }
      return nfa.text(from, "]");
    case JsonDoc::Kind::Object:
      from = nfa.text(from, "{");
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) from = separator(nfa, from, ',');
        from = separator(nfa, nfa.text(from, quoted_json(value.key(i))), ':');
        from = literal(nfa, from, value.member(i));
      }
      return nfa.text(from, "}");
  }
  return from;
}

State free_value(ByteNfa& nfa, State from, int depth) {
  const State end = nfa.add();
  if (nfa.full()) return end;
  for (const std::string_view word : {"null", "true", "false"}) {
    nfa.jump(nfa.text(from, word), end);
  }
  nfa.jump(number(nfa, from), end);
  nfa.jump(string(nfa, from, 0, kEndless), end);
  if (depth == 0) return end;
  for (const bool object : {false, true}) {
    const State open = nfa.text(from, object ? "{" : "[");
    const auto close = static_cast<unsigned char>(object ? '}' : ']');
    const State item = nfa.add(), last = nfa.add();
    nfa.jump(open, item);
    const State at = object ? separator(nfa, string(nfa, item, 0, kEndless), ':') : item;
    nfa.jump(free_value(nfa, at, depth - 1), last);
    nfa.jump(separator(nfa, last, ','), item);
    nfa.edge(open, close, close, end);
    nfa.edge(last, close, close, end);
  }
  return end;
}

}  // namespace sluice::json_grammar
