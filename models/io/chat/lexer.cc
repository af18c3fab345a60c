#include "models/io/chat/lexer.h"

#include "models/io/chat/literals.h"
#include "models/io/chat/unicode.h"

#include <algorithm>
#include <utility>

namespace sluice::jinja {

namespace {

std::string with_plain_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();  // Jinja keeps no trailing newline
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), text_(source_) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size() && error_.ok()) text_until_tag();
    if (!error_.ok()) return error_;
    push(Token::Kind::End, {});
    return std::move(tokens_);
  }

 private:
  using Kind = Token::Kind;

  void fail(std::string_view message) {
    if (error_.ok()) error_ = error_at(Code::InvalidArgument, line_, message);
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool looking_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  Token& push(Kind kind, std::string text) {
    tokens_.push_back({kind, line_, std::move(text), 0, 0});
    return tokens_.back();
  }
  void advance(size_t bytes) {
    const auto from = text_.begin() + static_cast<ptrdiff_t>(at_);
    line_ += static_cast<int>(std::count(from, from + static_cast<ptrdiff_t>(bytes), '\n'));
    at_ += bytes;
  }
  void skip_space() { advance(text_.size() - at_ - strip_left(text_.substr(at_)).size()); }

  void push_data(std::string_view data) {
    if (!data.empty()) push(Kind::Data, std::string(data));
  }

  // What remains of `data` before a tag with `sign` behind its opening.
  std::string_view trim_before_tag(std::string_view data, char sign, bool block) const {
    if (sign == '-') return strip_right(data);
    if (sign == '+' || !block) return data;
    const size_t line_start = data.rfind('\n') + 1;  // npos + 1 == 0
    const bool own_line = line_start > 0 || line_starting_;
    const bool blank = line_start < data.size() && strip_left(data.substr(line_start)).empty();
    return own_line && blank ? data.substr(0, line_start) : data;
  }

  void text_until_tag() {
    size_t tag = at_;
    while ((tag = text_.find('{', tag)) != std::string_view::npos) {
      const char next = tag + 1 < text_.size() ? text_[tag + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    }
    if (tag == std::string_view::npos) {
      push_data(text_.substr(at_));
      advance(text_.size() - at_);
      return;
    }
    const char what = text_[tag + 1];
    const char after = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
    const char sign = after == '-' || after == '+' ? after : '\0';
    const std::string_view data = text_.substr(at_, tag - at_);
    push_data(trim_before_tag(data, sign, what != '{'));
    advance(tag - at_);
    const size_t opening = sign != '\0' ? 3 : 2;
    if (what == '#') {
      advance(opening);
      comment();
    } else if (what == '{') {
      push(Kind::PrintBegin, {});
      advance(opening);
      tag_body(false);
    } else if (!raw_block(opening)) {
      push(Kind::BlockBegin, {});
      advance(opening);
      tag_body(true);
    }
  }

  // Behind "%}" or "#}": one newline goes, unless '+' stood before it; all white space after '-'.
  void close(char sign, bool trims_newline) {
    const size_t before = at_;
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && trims_newline && peek() == '\n') {
      advance(1);
    }
    line_starting_ = at_ > before && text_[at_ - 1] == '\n';
  }

  void comment() {
    const size_t end = text_.find("#}", at_);
    if (end == std::string_view::npos) return fail("a comment is not closed");
    const char sign = end > at_ ? text_[end - 1] : '\0';
    advance(end + 2 - at_);
    close(sign, true);
  }

  // The length of "SPACE word SPACE [-+]%}" at `from`, with the sign before the end; 0 if it is
  // not.
  size_t match_word_tag(size_t from, std::string_view word, char& sign) const {
    std::string_view rest = strip_left(text_.substr(from));
    if (!rest.starts_with(word)) return 0;
    rest = strip_left(rest.substr(word.size()));
    sign = rest.starts_with('-') || rest.starts_with('+') ? rest[0] : '\0';
    if (sign != '\0') rest.remove_prefix(1);
    if (!rest.starts_with("%}")) return 0;
    return text_.size() - from - (rest.size() - 2);
  }

  bool raw_block(size_t opening) {
    char sign = '\0';
    const size_t begin = match_word_tag(at_ + opening, "raw", sign);
    if (begin == 0 || sign == '+') return false;
    advance(opening + begin);
    close(sign, false);
    for (size_t end = at_; (end = text_.find("{%", end)) != std::string_view::npos; end += 2) {
      const char after = end + 2 < text_.size() ? text_[end + 2] : '\0';
      const size_t signs = after == '-' || after == '+' ? 1 : 0;
      const size_t length = match_word_tag(end + 2 + signs, "endraw", sign);
      if (length == 0) continue;
      push_data(trim_before_tag(text_.substr(at_, end - at_), signs > 0 ? after : '\0', true));
      advance(end + 2 + signs + length - at_);
      close(sign, true);
      return true;
    }
    fail("a raw block is not closed");
    return true;
  }

  bool closing(bool block) {
    const size_t sign = peek() == '-' || (block && peek() == '+') ? 1 : 0;
    if (text_.substr(std::min(at_ + sign, text_.size())).substr(0, 2) != (block ? "%}" : "}}")) {
      return false;
    }
    const char which = sign > 0 ? peek() : '\0';
    push(block ? Kind::BlockEnd : Kind::PrintEnd, {});
    advance(sign + 2);
    close(which, block);
    return true;
  }

  void tag_body(bool block) {
    std::string open;  // the brackets that are open
    while (error_.ok()) {
      if (open.empty() && closing(block)) return;
      if (at_ >= text_.size()) return fail("a tag is not closed");
      const CodePoint c = code_point_at(text_, at_);
      if (is_space(c.value)) {
        advance(c.size);
      } else if (c.value >= '0' && c.value <= '9') {
        number();
      } else if (c.value == '_' || is_alpha(c.value)) {
        name();
      } else if (c.value == '\'' || c.value == '"') {
        string();
      } else {
        operation(open);
      }
    }
  }

  void number() {
    Token token{Kind::Integer, line_, {}, 0, 0};
    const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';
    const size_t size = scan_number(text_.substr(at_), !after_dot, token);
    if (size == 0) return fail("a number is too large");
    tokens_.push_back(std::move(token));
    advance(size);
  }

  void name() {
    const size_t start = at_;
    while (at_ < text_.size()) {
      const CodePoint c = code_point_at(text_, at_);
      if (c.value != '_' && !is_alpha(c.value) && !is_numeric(c.value)) break;
      at_ += c.size;
    }
    push(Kind::Name, std::string(text_.substr(start, at_ - start)));
  }

  void string() {
    const char quote = peek();
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return fail("a string is not closed");
    std::string value;
    if (!unescape(text_.substr(at_ + 1, end - at_ - 1), value)) {
      return fail("a string has an escape that cannot be read");
    }
    push(Kind::String, std::move(value));
    advance(end + 1 - at_);
  }

  void operation(std::string& open) {
    static constexpr std::string_view kOperators[] = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view op : kOperators) {
      if (!looking_at(op)) continue;
      if (op == "(" || op == "[" || op == "{") {
        open += op == "(" ? ')' : op == "[" ? ']' : '}';
      } else if (op == ")" || op == "]" || op == "}") {
        if (open.empty() || open.back() != op[0]) {
          return fail(fmt::format("'{}' closes nothing that is open", op));
        }
        open.pop_back();
      }
      push(Kind::Operator, std::string(op));
      advance(op.size());
      return;
    }
    fail(fmt::format("unexpected character '{}'", text_.substr(at_, 1)));
  }

  std::string source_;
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  Status error_;
  std::vector<Token> tokens_;
};

}  // namespace

Status error_at(Code code, int line, std::string_view message) {
  constexpr size_t kMaxMessage = 400;
  std::string text = fmt::format("chat template line {}: ", line);
  for (const char c : message.substr(0, kMaxMessage)) {
    if (c == '\n') {
      text += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      text += ' ';
    } else {
      text += c;
    }
  }
  if (message.size() > kMaxMessage) text += "...";
  return {code, std::move(text)};
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (!valid_utf8(source)) {
    size_t at = 0;
    while (code_point_at(source, at).value <= 0x10FFFF) at += code_point_at(source, at).size;
    const auto line =
        1 + std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(at), '\n');
    return error_at(Code::InvalidArgument, static_cast<int>(line), "the text is not valid UTF-8");
  }
  return Lexer(with_plain_newlines(source)).run();
}

}  // namespace sluice::jinja
