#include "inference/sampler/constraint/regex_tree.h"
#include "models/tokenizer/utf8.h"

#include <optional>
#include <utility>

namespace sluice {
namespace {

using Node = std::unique_ptr<RegexNode>;
using NodeKind = RegexNode::Kind;

Node make(NodeKind kind) {
  auto node = std::make_unique<RegexNode>();
  node->kind = kind;
  return node;
}
Node character(CodePoints set) {
  Node node = make(NodeKind::Character);
  node->set = std::move(set);
  return node;
}
Node repeat(Node child, int32_t least, int32_t most) {
  Node node = make(NodeKind::Repeat);
  node->least = least;
  node->most = most;
  node->children.push_back(std::move(child));
  return node;
}

const CodePoints& digits() {
  static const CodePoints set = {{'0', '9'}};
  return set;
}
const CodePoints& word() {
  static const CodePoints set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}
const CodePoints& space() {
  static const CodePoints set = {{'\t', '\r'}, {' ', ' '}};
  return set;
}

/// Recursive descent over valid UTF-8.
class Parser {
 public:
  Parser(std::string_view text, RegexMatch match) : text_(text), match_(match) {}

  Result<Node> parse() {
    ASSIGN_OR_RETURN(Node node, choice(0));
    if (at_ < text_.size()) return wrong("')' without '('");
    return node;
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  [[nodiscard]] Status wrong(std::string_view what) const {
    return invalid_argument("pattern, byte {}: {}", at_, what);
  }
  char32_t next_character() {
    const char32_t c = utf8::decode(text_.data() + at_);
    at_ += utf8::length_of(text_[at_]);
    return c;
  }

  Result<Node> choice(int depth) {
    if (depth > RegexLimits::kMaxDepth) return wrong("groups are nested too deeply");
    Node out = make(NodeKind::Choice);
    do {
      ASSIGN_OR_RETURN(Node branch, sequence(depth));
      out->children.push_back(std::move(branch));
    } while (take("|"));
    if (out->children.size() == 1) return std::move(out->children[0]);
    return out;
  }

  Result<Node> sequence(int depth) {
    Node out = make(NodeKind::Sequence);
    const bool outermost = depth == 0;
    const bool from_start = outermost && take("^");
    bool to_end = false;
    while (!done() && peek() != '|' && peek() != ')') {
      if (outermost && peek() == '$' && (at_ + 1 == text_.size() || peek(1) == '|')) {
        ++at_;
        to_end = true;
        break;
      }
      ASSIGN_OR_RETURN(Node piece, repeated(depth));
      out->children.push_back(std::move(piece));
    }
    if (outermost && match_ == RegexMatch::Anywhere) {
      const auto anything = [] {
        return repeat(character(CodePoints::all()), 0, RegexNode::kEndless);
      };
      if (!from_start) out->children.insert(out->children.begin(), anything());
      if (!to_end) out->children.push_back(anything());
    }
    return out;
  }

  Result<Node> repeated(int depth) {
    ASSIGN_OR_RETURN(Node node, atom(depth));
    bool again = false;
    for (;; again = true) {
      int32_t least = 0, most = RegexNode::kEndless;
      const size_t before = at_;
      if (take("*")) {
      } else if (take("+")) {
        least = 1;
      } else if (take("?")) {
        most = 1;
      } else if (peek() == '{') {
        ASSIGN_OR_RETURN(const bool counted, braces(least, most));
        if (!counted) return wrong("'{' must be written '\\{' where it does not count");
      } else {
        return node;
      }
      if (again) {
        at_ = before;
        return wrong("a repetition of a repetition");
      }
      if (take("+")) return wrong("possessive repetition is not supported");
      take("?");  // as few as possible: the same texts
      node = repeat(std::move(node), least, most);
    }
  }

  /// False when it is no count.
  Result<bool> braces(int32_t& least, int32_t& most) {
    const size_t begin = at_;
    const auto number = [&]() -> std::optional<int32_t> {
      if (peek() < '0' || peek() > '9') return std::nullopt;
      int32_t n = 0;
      for (; peek() >= '0' && peek() <= '9'; ++at_) {
        if (n <= RegexLimits::kMaxRepeat) n = 10 * n + (peek() - '0');
      }
      return n;
    };
    ++at_;
    const auto low = number();
    std::optional<int32_t> high = low;
    const bool open = take(",");
    if (open) high = number();
    if (!take("}") || !low) {
      at_ = begin;
      return false;
    }
    if (*low > RegexLimits::kMaxRepeat || high.value_or(0) > RegexLimits::kMaxRepeat) {
      return wrong(fmt::format("more than {} repetitions", RegexLimits::kMaxRepeat));
    }
    if (high && *high < *low) return wrong("a repetition whose most is less than its least");
    least = *low;
    most = high.value_or(RegexNode::kEndless);
    return true;
  }

  Result<Node> atom(int depth) {
    switch (peek()) {
      case '(':
        return group(depth);
      case '[':
        return bracket();
      case '.':
        ++at_;
        return character(CodePoints({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).inverted());
      case '\\': {
        ASSIGN_OR_RETURN(CodePoints set, escape(false));
        return character(std::move(set));
      }
      case '^':
      case '$':
        return wrong("'^' and '$' are supported only at the ends of the pattern");
      case '*':
      case '+':
      case '?':
        return wrong("nothing to repeat");
      case '{':
        return wrong("'{' must be written '\\{' where it does not count");
      default: {
        const char32_t c = next_character();
        return character({{c, c}});
      }
    }
  }

  Result<Node> group(int depth) {
    ++at_;
    if (peek() == '?') {
      if (take("?=") || take("?!") || take("?<=") || take("?<!")) {
        return wrong("look-around is not supported");
      }
      if (take("?P<") || take("?<")) {
        while (!done() && peek() != '>') ++at_;
        if (!take(">")) return wrong("a group's name has no end");
      } else if (!take("?:")) {
        return wrong("flags and other '(?' groups are not supported");
      }
    }
    ASSIGN_OR_RETURN(Node inner, choice(depth + 1));
    if (!take(")")) return wrong("'(' without ')'");
    return inner;
  }

  Result<uint32_t> hex(size_t least, size_t most) {
    uint32_t value = 0;
    size_t count = 0;
    for (; count < most; ++count, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      value = 16 * value + static_cast<uint32_t>(digit);
    }
    if (count < least) return wrong("too few hexadecimal digits");
    return value;
  }

  /// What stands behind a backslash.
  Result<CodePoints> escape(bool in_bracket) {
    ++at_;
    if (done()) return wrong("'\\' at the end");
    const char c = peek();
    const auto one = [](uint32_t value) { return CodePoints({{value, value}}); };
    if (c >= '1' && c <= '9') return wrong("back-references are not supported");
    ++at_;
    switch (c) {
      case 'd':
        return digits();
      case 'D':
        return digits().inverted();
      case 'w':
        return word();
      case 'W':
        return word().inverted();
      case 's':
        return space();
      case 'S':
        return space().inverted();
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        return one(0);
      case 'x': {
        ASSIGN_OR_RETURN(const uint32_t value, hex(2, 2));
        return one(value);
      }
      case 'u': {
        const bool braced = take("{");
        ASSIGN_OR_RETURN(const uint32_t value, braced ? hex(1, 6) : hex(4, 4));
        if (braced && !take("}")) return wrong("'\\u{' without '}'");
        if (one(value).empty()) return wrong("no such character");
        return one(value);
      }
      case 'b':
        if (in_bracket) return one('\b');
        return wrong("\\b is not supported");
      default:
        break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) return wrong(fmt::format("\\{} is not supported", c));
    --at_;
    const char32_t literal = next_character();
    return one(literal);
  }

  Result<Node> bracket() {
    ++at_;
    const bool negated = take("^");
    CodePoints set;
    while (peek() != ']') {
      if (done()) return wrong("'[' without ']'");
      ASSIGN_OR_RETURN(const CodePoints first, bracket_item());
      if (peek() != '-' || peek(1) == ']' || peek(1) == '\0') {
        set.add(first);
        continue;
      }
      ++at_;
      ASSIGN_OR_RETURN(const CodePoints last, bracket_item());
      const auto single = [](const CodePoints& s) {
        return s.ranges().size() == 1 && s.ranges()[0].first == s.ranges()[0].second;
      };
      if (!single(first) || !single(last)) return wrong("a class at the end of a range");
      if (first.ranges()[0].first > last.ranges()[0].first) return wrong("a range backwards");
      set.add(first.ranges()[0].first, last.ranges()[0].first);
    }
    ++at_;
    return character(negated ? set.inverted() : set);
  }

  Result<CodePoints> bracket_item() {
    if (done()) return wrong("'[' without ']'");
    if (peek() == '[' && (peek(1) == ':' || peek(1) == '=' || peek(1) == '.')) {
      return wrong("POSIX classes are not supported");
    }
    if (peek() == '\\') return escape(true);
    const char32_t c = next_character();
    return CodePoints({{c, c}});
  }

  std::string_view text_;
  RegexMatch match_;
  size_t at_ = 0;
};

}  // namespace

Result<std::unique_ptr<RegexNode>> parse_regex(std::string_view pattern, RegexMatch match) {
  if (pattern.size() > RegexLimits::kMaxBytes) {
    return invalid_argument("pattern of {} bytes; at most {} are taken", pattern.size(),
                            RegexLimits::kMaxBytes);
  }
  if (!utf8::valid(pattern)) return invalid_argument("pattern is not valid UTF-8");
  return Parser(pattern, match).parse();
}

}  // namespace sluice
