#include "inference/sampler/constraint/constraint.h"

#include "dataflow/base/random.h"
#include "inference/sampler/constraint/constraint_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace sluice {
namespace {
using testing::HasSubstr;

std::shared_ptr<const Constraint> must(Result<std::shared_ptr<const Constraint>> made) {
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : nullptr;
}

bool matches(const std::shared_ptr<const Constraint>& constraint, std::string_view text) {
  const ByteDfa& dfa = constraint->automaton();
  const auto state = dfa.walk(ByteDfa::kStart, text);
  return state != ByteDfa::kDead && dfa.accepts(state);
}

TEST(RegexConstraint, MatchesWhatStdRegexMatches) {
  const char* patterns[] = {
      "abc",          "a*b+c?",       "(a|bc)*d",       "[a-c]{2,3}", "x{0}y",  "(ab){2,}",
      "\\d+\\.\\d*",  "[^a-c]",       "\\w\\s\\W",      "(?:a|b|)c",  "a.c",    "((a*)*b)*",
      "\\(\\[\\{\\}", "^(a|b)$",      "a|b|cc",         "[\\]\\-x]+", "[-a]+",  "\\x41\\u0042",
      "(a?){3}b",     "a{2}{0}|b*?c", "(foo|bar)+baz?", "[a-z&&]+",   "\\D\\S", "a{1,3}b{2}"};
  std::vector<std::string> texts = {"",    "a",  "abc",  "aabbc", "d",
                                    "bcd", "ab", "abab", "1.5",   "a _ "};
  const std::string alphabet = "abcdxyz.1 _-]([{}&AB\nfor";
  for (uint64_t i = 0; i < 3000; ++i) {
    std::string text;
    const RandomKey key = RandomKey(9).split(i);
    for (uint64_t c = 0; c < key.word(0) % 7; ++c) {
      text += alphabet[key.word(c + 1) % alphabet.size()];
    }
    texts.push_back(text);
  }
  for (const char* pattern : patterns) {
    const auto made = Constraint::regex(pattern);
    if (std::string(pattern) == "a{2}{0}|b*?c") {
      EXPECT_THAT(made.status().message(), HasSubstr("a repetition of a repetition"));
      continue;
    }
    ASSERT_TRUE(made.ok()) << pattern << ": " << made.status().message();
    const std::regex reference(pattern);
    for (const std::string& text : texts) {
      ASSERT_EQ(matches(*made, text), std::regex_match(text, reference)) << pattern << " " << text;
    }
  }
}

TEST(RegexConstraint, CharactersAreUnicode) {
  const auto one = must(Constraint::regex("[^x]"));
  for (const char* text : {"a", "é", "€", "😀", "\n"}) EXPECT_TRUE(matches(one, text));
  for (const char* text :
       {"x", "ab", "\xC3", "\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC0\x80"}) {
    EXPECT_FALSE(matches(one, text)) << text;
  }
  const auto range = must(Constraint::regex("[à-ÿ€-₿\\u{1F600}-\\u{1F64F}]+"));
  EXPECT_TRUE(matches(range, "éÿ€₿😀🙏"));
  for (const char* text : {"ß", "₠x", "🙐", "À"}) EXPECT_FALSE(matches(range, text)) << text;
}

TEST(RegexConstraint, EveryRangeOfCharactersIsExact) {
  for (uint64_t i = 0; i < 60; ++i) {
    const RandomKey key(i);
    const uint32_t bounds[] = {0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
    auto first = static_cast<uint32_t>(key.word(0) % 0x110000);
    auto last = static_cast<uint32_t>(key.word(1) % 0x110000);
    if (i % 3 == 0) first = bounds[key.word(2) % 9];
    if (i % 5 == 0) last = bounds[key.word(3) % 9];
    if (first > last) std::swap(first, last);
    const CodePoints set = {{first, last}};
    if (set.empty()) continue;
    ByteNfa nfa;
    const auto dfa = ByteDfa::from(nfa, nfa.character(nfa.start(), set));
    ASSERT_TRUE(dfa.ok());
    for (uint32_t c = 0; c <= CodePoints::kLast; c += c % 64 == 63 || c < 0x900 ? 1 : 9) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::string text;
      utf8::append(text, static_cast<char32_t>(c));
      const auto state = dfa->walk(ByteDfa::kStart, text);
      ASSERT_EQ(state != ByteDfa::kDead && dfa->accepts(state), c >= first && c <= last)
          << c << " in " << first << ".." << last;
    }
  }
}

TEST(RegexConstraint, WhatIsNotSupportedIsNamed) {
  const std::pair<const char*, const char*> cases[] = {{"(a)\\1", "back-references"},
                                                       {"(?=a)", "look-around"},
                                                       {"(?<!a)b", "look-around"},
                                                       {"\\bword", "\\b"},
                                                       {"\\p{L}", "\\p"},
                                                       {"(?i)a", "flags"},
                                                       {"a^b", "'^' and '$'"},
                                                       {"(a$)", "'^' and '$'"},
                                                       {"*a", "nothing to repeat"},
                                                       {"a**", "a repetition of"},
                                                       {"(a", "'(' without ')'"},
                                                       {"a)", "')' without '('"},
                                                       {"[a", "'[' without ']'"},
                                                       {"[z-a]", "backwards"},
                                                       {"a{3,2}", "less than its least"},
                                                       {"a{99999}", "repetitions"},
                                                       {"[[:alpha:]]", "POSIX"},
                                                       {"a++", "possessive"},
                                                       {"a{x}", "'\\{'"},
                                                       {"\\", "'\\' at the end"},
                                                       {"\xFF", "UTF-8"},
                                                       {"\\x4", "hexadecimal"},
                                                       {"[\\d-z]", "a class at"},
                                                       {"\\u{D800}", "no such character"}};
  for (const auto& [pattern, message] : cases) {
    const auto made = Constraint::regex(pattern);
    EXPECT_EQ(made.status().code(), Code::InvalidArgument) << pattern;
    EXPECT_THAT(made.status().message(), HasSubstr(message)) << pattern;
  }
}

TEST(RegexConstraint, WhatWouldBeTooLargeIsRefused) {
  for (const char* pattern :
       {"((a{1,1000}){1,1000}){1,1000}", "(a|b)*a(a|b){20}", "(.{1,5000}x){30}"}) {
    EXPECT_EQ(Constraint::regex(pattern).status().code(), Code::ResourceExhausted) << pattern;
  }
  const std::string deep = std::string(100, '(') + std::string(100, ')');
  EXPECT_THAT(Constraint::regex(deep).status().message(), HasSubstr("nested too deeply"));
  EXPECT_THAT(Constraint::regex(std::string(20000, 'a')).status().message(), HasSubstr("bytes"));
  EXPECT_THAT(Constraint::regex("[^\\d\\D]").status().message(), HasSubstr("no text satisfies"));
}

TEST(ConstraintMasks, AllowExactlyTheTokensThatCanGoOn) {
  ConstraintFixture fixture;
  for (const char* pattern : {"(true|nul+)*", "[a-c]{0,4}é?", "\\d+", "(ab|abc)*\\{\"x\": 12"}) {
    const auto constraint = must(Constraint::regex(pattern));
    ConstraintMasks masks = fixture.masks(constraint);
    const ByteDfa& dfa = constraint->automaton();
    for (ByteDfa::State state = 0; state < dfa.size(); ++state) {
      const TokenMask mask = *masks.mask(state);
      for (int64_t token = 0; token < fixture.end(); ++token) {
        const std::string& bytes = fixture.trie().bytes(token);
        const bool goes_on = dfa.walk(state, bytes) != ByteDfa::kDead;
        ASSERT_EQ(mask.allows(token), goes_on) << pattern << " token " << token;
        ASSERT_EQ(masks.advance(state, token), dfa.walk(state, bytes));
      }
      EXPECT_EQ(mask.allows(fixture.end()), dfa.accepts(state));
    }
    EXPECT_EQ(masks.cached(), dfa.size());
  }
}

TEST(ConstraintMasks, SpecialTokensAreNeverText) {
  ConstraintFixture fixture;
  ConstraintMasks masks = fixture.masks(must(Constraint::regex("<\\|end\\|>|.*")));
  EXPECT_TRUE(masks.mask(ConstraintMasks::kStart)->allows(fixture.end()));  // as the end
  ConstraintMasks longer = fixture.masks(must(Constraint::regex("<\\|end\\|>")));
  EXPECT_FALSE(longer.mask(ConstraintMasks::kStart)->allows(fixture.end()));
  EXPECT_EQ(longer.advance(ConstraintMasks::kStart, fixture.end()), ConstraintMasks::kDead);
  EXPECT_FALSE(longer.may_end(ConstraintMasks::kStart));
}

TEST(ConstraintMasks, EndsWhereNothingCanFollow) {
  ConstraintFixture fixture;
  ConstraintMasks masks = fixture.masks(must(Constraint::regex("ab?")));
  const auto a = masks.advance(ConstraintMasks::kStart, 'a');
  EXPECT_TRUE(masks.may_end(a));
  EXPECT_FALSE(masks.must_end(a));
  const auto ab = masks.advance(a, 'b');
  EXPECT_TRUE(masks.must_end(ab));
  EXPECT_EQ(masks.advance(ab, 'b'), ConstraintMasks::kDead);
}

TEST(ConstraintMasks, KeepABoundedNumberOfMasks) {
  ConstraintFixture fixture;
  ConstraintMasks masks = fixture.masks(must(Constraint::regex("[ab]{0,3000}")));
  auto state = ConstraintMasks::kStart;
  for (int i = 0; i < 2500; ++i) {
    ASSERT_TRUE(masks.mask(state)->allows('a'));
    state = masks.advance(state, 'a');
    ASSERT_LE(masks.cached(), ConstraintMasks::kMaxMasks);
  }
}

TEST(RegexConstraint, RandomLogitsGiveOnlyMatches) {
  ConstraintFixture fixture;
  for (const char* pattern :
       {"(foo|ba[rz]){1,4}!?", "\\d{3}-\\d{4}", "[A-Z][a-z]{0,8}( [A-Z][a-z]*){0,2}"}) {
    ConstraintMasks masks = fixture.masks(must(Constraint::regex(pattern)));
    const std::regex reference(pattern);
    std::set<std::string> seen;
    for (uint64_t seed = 0; seed < 30; ++seed) {
      const auto text = fixture.draw(masks, seed);
      if (!text) continue;
      EXPECT_TRUE(std::regex_match(*text, reference)) << *text;
      seen.insert(*text);
    }
    EXPECT_GT(seen.size(), 10U);
  }
}

}  // namespace
}  // namespace sluice
