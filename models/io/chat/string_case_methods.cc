// The methods of str about case, classes of characters, and width.
#include "models/io/chat/bound_args.h"
#include "models/io/chat/library_parts.h"
#include "models/io/chat/text_case.h"
#include "models/io/chat/text_ops.h"
#include "models/io/chat/unicode.h"

namespace sluice::jinja {

namespace {

using Change = std::string (*)(std::string_view);

Value changed(Runtime& rt, const CallArgs& call, std::string_view name, Change change) {
  const BoundArgs args(rt, call, name, {""}, 1);
  if (!args.ok() || !rt.step_bytes(args[0].text().size())) return Value::failed();
  return rt.str(change(args[0].text()));
}

// Every character is of the class, and there is one.
Value every(Runtime& rt, const CallArgs& call, std::string_view name, bool (*member)(char32_t)) {
  const BoundArgs args(rt, call, name, {""}, 1);
  if (!args.ok() || !rt.step_bytes(args[0].text().size())) return Value::failed();
  const std::string_view text = args[0].text();
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (!member(c.value)) return Value::boolean(false);
    at += c.size;
  }
  return Value::boolean(!text.empty());
}

bool alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }
bool alpha(char32_t c) { return is_alpha(c); }
bool decimal(char32_t c) { return is_decimal(c); }
bool digit(char32_t c) { return is_digit(c); }
bool numeric(char32_t c) { return is_numeric(c); }
bool space(char32_t c) { return is_space(c); }

Value is_ascii(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "isascii", {""}, 1);
  if (!args.ok() || !rt.step_bytes(args[0].text().size())) return Value::failed();
  for (const char c : args[0].text()) {
    if (static_cast<unsigned char>(c) >= 0x80) return Value::boolean(false);
  }
  return Value::boolean(true);
}

Value cased(Runtime& rt, const CallArgs& call, std::string_view name, bool upper) {
  const BoundArgs args(rt, call, name, {""}, 1);
  if (!args.ok() || !rt.step_bytes(args[0].text().size())) return Value::failed();
  return Value::boolean(is_cased(args[0].text(), upper));
}

// Fills up to `width`: `left` and `right` say how the rest is shared out.
enum class Side { Left, Right, Both };
Value justified(Runtime& rt, const CallArgs& call, std::string_view name, Side side) {
  BoundArgs args(rt, call, name, {"", "", ""}, 2);
  int64_t width = 0;
  std::string_view fill = " ";
  if (!args.ok() || !args.integer(1, width) || !args.text(2, fill)) return Value::failed();
  if (code_points(fill) != 1)
    return rt.fail("The fill character must be exactly one character long");
  return centred(rt, args[0].text(), width, fill,
                 side == Side::Both   ? 0
                 : side == Side::Left ? 1
                                      : -1);
}

Value zfill(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "zfill", {"", ""}, 2);
  int64_t width = 0;
  if (!args.ok() || !args.integer(1, width)) return Value::failed();
  const std::string_view text = args[0].text();
  const bool sign = text.starts_with('-') || text.starts_with('+');
  std::string out(text.substr(0, sign ? 1 : 0));
  if (!pad(rt, "0", width - code_points(text), out)) return Value::failed();
  out += text.substr(sign ? 1 : 0);
  return rt.str(std::move(out));
}

}  // namespace

std::span<const Function> string_case_methods() {
  static const Function kMethods[] = {
      {"upper", [](Runtime& rt, CallArgs& c) { return changed(rt, c, "upper", to_upper); }},
      {"lower", [](Runtime& rt, CallArgs& c) { return changed(rt, c, "lower", to_lower); }},
      {"title", [](Runtime& rt, CallArgs& c) { return changed(rt, c, "title", to_title); }},
      {"capitalize",
       [](Runtime& rt, CallArgs& c) { return changed(rt, c, "capitalize", capitalized); }},
      {"swapcase",
       [](Runtime& rt, CallArgs& c) { return changed(rt, c, "swapcase", swapped_case); }},
      {"isalnum", [](Runtime& rt, CallArgs& c) { return every(rt, c, "isalnum", alnum); }},
      {"isalpha", [](Runtime& rt, CallArgs& c) { return every(rt, c, "isalpha", alpha); }},
      {"isdecimal", [](Runtime& rt, CallArgs& c) { return every(rt, c, "isdecimal", decimal); }},
      {"isdigit", [](Runtime& rt, CallArgs& c) { return every(rt, c, "isdigit", digit); }},
      {"isnumeric", [](Runtime& rt, CallArgs& c) { return every(rt, c, "isnumeric", numeric); }},
      {"isspace", [](Runtime& rt, CallArgs& c) { return every(rt, c, "isspace", space); }},
      {"isascii", is_ascii},
      {"islower", [](Runtime& rt, CallArgs& c) { return cased(rt, c, "islower", false); }},
      {"isupper", [](Runtime& rt, CallArgs& c) { return cased(rt, c, "isupper", true); }},
      {"ljust", [](Runtime& rt, CallArgs& c) { return justified(rt, c, "ljust", Side::Left); }},
      {"rjust", [](Runtime& rt, CallArgs& c) { return justified(rt, c, "rjust", Side::Right); }},
      {"center", [](Runtime& rt, CallArgs& c) { return justified(rt, c, "center", Side::Both); }},
      {"zfill", zfill},
  };
  return kMethods;
}

}  // namespace sluice::jinja
