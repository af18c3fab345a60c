#include "models/tokenizer/unicode.h"

#include "models/tokenizer/utf8.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

namespace sluice::unicode {
namespace {

enum class Category : uint8_t {
  Cn,
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Me,
  Mc,
  Nd,
  Nl,
  No,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Co,
  Cs,
  Pd,
  Ps,
  Pe,
  Pc,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Pi,
  Pf,
};  // in ICU's order
static_assert(static_cast<int>(Category::Pf) == U_FINAL_PUNCTUATION);

struct Range {
  char32_t first;
  char32_t last;
  Category category;
};
constexpr Range kRecent[] = {
#include "models/tokenizer/unicode_recent.inc"
};
constexpr char32_t kEnd = 0x110000;

/// The first version of Unicode that knows a code point, times ten.
int age_of(UChar32 code) {
  UVersionInfo age;
  u_charAge(code, age);
  return age[0] == 0 ? 1000 : age[0] * 10 + age[1];
}
constexpr int kPunctuationAge = 80;    // the tables that the Punctuation pre-tokenizer reads
constexpr int kNormalizationAge = 90;  // those of the normalizers

uint8_t flags_of(char32_t c, Category category) {
  // Three quarters of all code points are none of anybody's.
  if (category == Category::Cn || category == Category::Co || category == Category::Cs) return 0;
  const auto code = static_cast<UChar32>(c);
  const auto in = [category](Category first, Category last) {
    return category >= first && category <= last;
  };
  const bool letter = in(Category::Lu, Category::Lo);
  const bool mark = in(Category::Mn, Category::Mc);
  const bool number = in(Category::Nd, Category::No);
  const bool punctuation = in(Category::Pd, Category::Po) || in(Category::Pi, Category::Pf) ||
                           (c < 0x80 && in(Category::Sm, Category::So));
  const bool word = letter || mark || category == Category::Nd || category == Category::Nl ||
                    category == Category::Pc || u_hasBinaryProperty(code, UCHAR_ALPHABETIC) != 0 ||
                    u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL) != 0;
  uint8_t flags = 0;
  if (letter) flags |= kLetter;
  if (number) flags |= kNumber | kNumeric;
  if (!letter && u_hasBinaryProperty(code, UCHAR_WHITE_SPACE) != 0) flags |= kSpace;
  if (word) flags |= kWord;
  if (mark && age_of(code) <= kNormalizationAge) flags |= kMark;
  if (punctuation && age_of(code) <= kPunctuationAge) flags |= kPunctuation;
  // Their categories have changed since.
  if (c == 0x1CF2 || c == 0x1CF3) flags |= kMark;
  if (c == 0x166D || c == 0x111C9) flags |= kPunctuation;
  return flags;
}

/// One of each category that every version of Unicode in use knows, of 3 and of 4 bytes.
char32_t proxy_of(char32_t c, Category category) {
  const bool four = c >= 0x10000;
  switch (category) {
    case Category::Lu:
      return four ? 0x10400 : 0x1E00;
    case Category::Ll:
      return four ? 0x10428 : 0x1E01;
    case Category::Lm:
      return four ? 0x16F93 : 0x3005;
    case Category::Lo:
      return c >= 0x20000 ? 0x20000 : four ? 0x10280 : 0x1380;
    case Category::Mn:
    case Category::Me:
      return four ? 0x1D167 : 0x302A;
    case Category::Mc:
      return four ? 0x11000 : 0x0903;
    case Category::Nd:
      return four ? 0x104A0 : 0x0966;
    case Category::Nl:
      return four ? 0x10140 : 0x2160;
    case Category::No:
      return four ? 0x10107 : 0x2460;
    case Category::Sm:
    case Category::Sc:
    case Category::Sk:
    case Category::So:
      return four ? 0x1F600 : 0x2300;
    case Category::Cf:
      return four ? 0xE0001 : 0x200B;
    default:
      return four ? 0x10100 : 0x2016;  // punctuation
  }
}

/// Mongolian vowel separator: a space for PCRE2 only.
constexpr char32_t kVowelSeparator = 0x180E;

const Range* recent(char32_t c) {
  const auto* found = std::lower_bound(std::begin(kRecent), std::end(kRecent), c,
                                       [](const Range& r, char32_t x) { return r.last < x; });
  return found != std::end(kRecent) && found->first <= c ? found : nullptr;
}

}  // namespace

Classes::Classes() {
  std::vector<Category> categories(kEnd);
  u_enumCharTypes(
      [](const void* context, UChar32 start, UChar32 limit, UCharCategory type) -> UBool {
        auto& all = *static_cast<std::vector<Category>*>(const_cast<void*>(context));
        std::fill(all.begin() + start, all.begin() + limit, static_cast<Category>(type));
        return 1;
      },
      &categories);
  for (const Range& r : kRecent) {
    std::fill(categories.begin() + r.first, categories.begin() + r.last + 1, r.category);
  }
  std::map<std::array<uint8_t, 256>, uint8_t> known;
  for (char32_t page = 0; page < page_.size(); ++page) {
    std::array<uint8_t, 256> flags{};
    for (char32_t i = 0; i < flags.size(); ++i) {
      const char32_t c = page << 8 | i;
      flags[i] = flags_of(c, categories[c]);
      // Digits of Unicode 17, which only the Digits pre-tokenizer knows.
      if ((c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6)) flags[i] |= kNumeric;
    }
    const auto [at, fresh] = known.try_emplace(flags, static_cast<uint8_t>(known.size()));
    if (fresh) flags_.insert(flags_.end(), flags.begin(), flags.end());
    page_[page] = at->second;
  }
}

const Classes& Classes::get() {
  static const Classes classes;
  return classes;
}

uint8_t flags_at(const char* p) { return Classes::get().of(utf8::decode(p)); }

bool proxy_for_regex(std::string_view text, std::string& out) {
  bool copied = false;
  for (size_t i = 0; i < text.size();) {
    uint64_t eight = 0;
    while (text.size() - i >= 8) {
      std::memcpy(&eight, text.data() + i, 8);
      if ((eight & 0x8080808080808080U) != 0) break;
      i += 8;
    }
    if (i == text.size()) break;
    const size_t length = utf8::length_of(text[i]);
    if (length >= 3) {
      const char32_t c = utf8::decode(text.data() + i);
      const Range* range = recent(c);
      if (range != nullptr || c == kVowelSeparator) {
        if (!copied) out = text;
        copied = true;
        std::string proxy;
        utf8::append(proxy, range != nullptr ? proxy_of(c, range->category) : 0x200B);
        out.replace(i, length, proxy);
      }
    }
    i += length;
  }
  return copied;
}

namespace {

/// A form as Unicode 9 had it: younger characters stay and nothing moves across them.
struct PinnedForm {
  explicit PinnedForm(Form form) {
    UErrorCode code = U_ZERO_ERROR;
    known.applyPattern("[:age=9.0:]", code);
    known.freeze();
    const icu::Normalizer2* newest = nullptr;
    switch (form) {
      case Form::Nfc:
        newest = icu::Normalizer2::getNFCInstance(code);
        break;
      case Form::Nfd:
        newest = icu::Normalizer2::getNFDInstance(code);
        break;
      case Form::Nfkc:
        newest = icu::Normalizer2::getNFKCInstance(code);
        break;
      case Form::Nfkd:
        newest = icu::Normalizer2::getNFKDInstance(code);
        break;
    }
    // ICU carries these tables in itself: this fails only where ICU is broken.
    if (U_SUCCESS(code) != 0) pinned = std::make_unique<icu::FilteredNormalizer2>(*newest, known);
  }
  icu::UnicodeSet known;
  std::unique_ptr<icu::FilteredNormalizer2> pinned;
};

template <Form form>
const PinnedForm& pinned() {
  static const PinnedForm made(form);
  return made;
}

const PinnedForm& pinned(Form form) {
  switch (form) {
    case Form::Nfc:
      return pinned<Form::Nfc>();
    case Form::Nfd:
      return pinned<Form::Nfd>();
    case Form::Nfkc:
      return pinned<Form::Nfkc>();
    default:
      return pinned<Form::Nfkd>();
  }
}

/// Capital letters that are younger than ICU's table.
char32_t lower_of(char32_t c) {
  if (c < 0x1C89) return static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)));
  if (c >= 0x10D50 && c <= 0x10D65) return c + 32;
  if (c >= 0x16EA0 && c <= 0x16EB8) return c + 27;
  switch (c) {
    case 0xA7CB:
      return 0x264;
    case 0xA7DC:
      return 0x19B;
    case 0x1C89:
    case 0xA7CC:
    case 0xA7CE:
    case 0xA7D2:
    case 0xA7D4:
    case 0xA7DA:
      return c + 1;
    default:
      return static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)));
  }
}

}  // namespace

void normalize(Form form, std::string& text) {
  // Below U+0300 everything is composed; in the other forms below U+0080.
  const unsigned char bound = form == Form::Nfc ? 0xCC : 0x80;
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [bound](char c) { return static_cast<unsigned char>(c) < bound; });
  const auto& normalizer = pinned(form).pinned;
  if (plain || !normalizer) return;
  UErrorCode code = U_ZERO_ERROR;
  std::string out;
  icu::StringByteSink<std::string> sink(&out, static_cast<int32_t>(text.size()));
  normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                            sink, nullptr, code);
  if (U_SUCCESS(code) != 0) text = std::move(out);
}

void lowercase(std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char* p = text.data(); p < text.data() + text.size(); p += utf8::length_of(*p)) {
    const char32_t c = utf8::decode(p);
    utf8::append(out, lower_of(c));
    if (c == 0x130) utf8::append(out, 0x307);  // the one character whose lower case is two
  }
  text = std::move(out);
}

void strip_accents(std::string& text) {
  std::string out;
  out.reserve(text.size());
  const Classes& classes = Classes::get();
  for (const char* p = text.data(); p < text.data() + text.size(); p += utf8::length_of(*p)) {
    if (!classes.is(utf8::decode(p), kMark)) out.append(p, utf8::length_of(*p));
  }
  text = std::move(out);
}

}  // namespace sluice::unicode
