#include "models/tokenizer/tokenizer.h"

#include "models/tokenizer/byte_alphabet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A tokenizer.json with parts replaced.
struct File {
  std::string added = "[]";
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string post_processor = "null";
  std::string decoder = "null";
  std::string vocab = R"({"a":0,"b":1,"c":2,"ab":3,"abc":4," ":5})";
  std::string merges = R"(["a b","ab c"])";
  std::string model_more;

  [[nodiscard]] std::string text() const {
    return R"({"version":"1.0","added_tokens":)" + added + R"(,"normalizer":)" + normalizer +
           R"(,"pre_tokenizer":)" + pre_tokenizer + R"(,"post_processor":)" + post_processor +
           R"(,"decoder":)" + decoder + R"(,"model":{"type":"BPE","vocab":)" + vocab +
           R"(,"merges":)" + merges + model_more + "}}";
  }
  [[nodiscard]] std::unique_ptr<Tokenizer> load() const {
    auto made = Tokenizer::from_json(text());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : nullptr;
  }
  [[nodiscard]] std::string failure() const {
    const auto made = Tokenizer::from_json(text());
    EXPECT_FALSE(made.ok());
    const std::string message = made.status().message();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with("tokenizer.json")) << message;
    return message;
  }
};

constexpr const char* kBytes = R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":true})";

/// All 256 bytes, no merges.
File byte_file() {
  File file;
  file.vocab = "{";
  for (int b = 0; b < 256; ++b) {
    const std::string text(byte_alphabet::of(static_cast<unsigned char>(b)));
    file.vocab += (b > 0 ? "," : "") + std::string("\"") +
                  (text == "\"" || text == "\\" ? "\\" : "") + text + "\":" + std::to_string(b);
  }
  file.vocab += "}";
  file.merges = "[]";
  file.pre_tokenizer = kBytes;
  file.decoder = kBytes;
  return file;
}

TEST(Tokenizer, MergesAsStringsAndAsPairsGiveTheSameIds) {
  File strings;
  File pairs;
  pairs.merges = R"([["a","b"],["ab","c"]])";
  const std::string text = "abcabab cabc";
  EXPECT_EQ(*strings.load()->encode(text), *pairs.load()->encode(text));
  EXPECT_THAT(*strings.load()->encode("abcab c"), ElementsAre(4, 3, 5, 2));
}

TEST(Tokenizer, LowestRankMergesFirst) {
  File file;
  file.vocab = R"({"a":0,"b":1,"c":2,"ab":3,"bc":4})";
  file.merges = R"(["b c","a b"])";
  EXPECT_THAT(*file.load()->encode("abc"), ElementsAre(0, 4));
  file.merges = R"(["a b","b c"])";
  EXPECT_THAT(*file.load()->encode("abc"), ElementsAre(3, 2));
}

TEST(Tokenizer, IgnoreMergesTakesWholeWordsFromTheVocabulary) {
  File file;
  file.vocab = R"({"a":0,"b":1,"c":2,"abc":3})";
  file.merges = "[]";
  EXPECT_THAT(*file.load()->encode("abc"), ElementsAre(0, 1, 2));
  file.model_more = R"(,"ignore_merges":true)";
  EXPECT_THAT(*file.load()->encode("abc"), ElementsAre(3));
}

TEST(Tokenizer, LongWordsMergeAsShortOnesDo) {
  const auto tokenizer = File{}.load();
  std::string text;
  std::vector<TokenId> expected;
  for (int i = 0; i < 100'000; ++i) {
    text += "abcab";
    expected.push_back(4);
    expected.push_back(3);
  }
  EXPECT_EQ(*tokenizer->encode(text), expected);
}

TEST(Tokenizer, UnknownCharactersVanishOrBecomeTheUnknownToken) {
  File file;
  EXPECT_THAT(*file.load()->encode("bxya"), ElementsAre(1, 0));
  file.model_more = R"(,"unk_token":"c")";
  EXPECT_THAT(*file.load()->encode("bxya"), ElementsAre(1, 2, 2, 0));
  file.model_more = R"(,"unk_token":"c","fuse_unk":true)";
  EXPECT_THAT(*file.load()->encode("bxya"), ElementsAre(1, 2, 0));
  file.model_more = R"(,"unk_token":"?")";
  const auto failed = file.load()->encode("bxya");
  EXPECT_EQ(failed.status().code(), Code::FailedPrecondition);
  EXPECT_THAT(failed.status().message(), HasSubstr("\"x\""));
}

TEST(Tokenizer, EveryByteStringBecomesItsReplacementAndBack) {
  const auto tokenizer = byte_file().load();
  uint32_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int k = 0; k < i % 40; ++k) {
      state = state * 1664525 + 1013904223;
      text += static_cast<char>(state >> 24);
    }
    const auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids.ok());
    ASSERT_EQ(tokenizer->decode(*ids), utf8::replace_invalid(text));
  }
}

TEST(Tokenizer, TheLongestAddedTokenWins) {
  File file;
  file.added =
      R"([{"id":6,"content":"<a>"},{"id":7,"content":"<ab>"},{"id":8,"content":"<ab><a>"}])";
  const auto tokenizer = file.load();
  EXPECT_THAT(*tokenizer->encode("<ab><a>"), ElementsAre(8));
  EXPECT_THAT(*tokenizer->encode("<ab>a<a>"), ElementsAre(7, 0, 6));
}

TEST(Tokenizer, SpecialTextIsPlainWhenAsked) {
  File file;
  file.added = R"([{"id":4,"content":"abc","special":true}])";
  const auto tokenizer = file.load();
  EXPECT_THAT(*tokenizer->encode("abcab"), ElementsAre(4, 3));
  file.merges = R"(["a b"])";
  EXPECT_THAT(*file.load()->encode("abcab", {true, false}), ElementsAre(3, 2, 3));
}

TEST(Tokenizer, SkipsSpecialTokensAndUnknownIdsWhenDecoding) {
  File file;
  file.added = R"([{"id":6,"content":"<s>","special":true},{"id":7,"content":"<t>"}])";
  file.decoder = R"({"type":"Fuse"})";
  const auto tokenizer = file.load();
  const std::vector<TokenId> ids = {6, 0, 7, 99, -1, 1};
  EXPECT_EQ(tokenizer->decode(ids), "a<t>b");
  EXPECT_EQ(tokenizer->decode(ids, {false}), "<s>a<t>b");
}

TEST(Tokenizer, StreamNeverEmitsHalfACharacter) {
  const auto tokenizer = byte_file().load();
  const auto ids = *tokenizer->encode("x😀é");
  StreamDecoder stream = tokenizer->stream();
  std::vector<std::string> chunks;
  for (const TokenId id : ids) chunks.push_back(stream.put(id));
  EXPECT_THAT(chunks, ElementsAre("x", "", "", "", "😀", "", "é"));
  EXPECT_EQ(stream.finish(), "");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(stream.put(ids[i]), i == 0 ? "x" : "");
  EXPECT_EQ(stream.finish(), "\uFFFD") << "an end inside a character is one replacement";
}

TEST(Tokenizer, ThreadsShareOneTokenizer) {
  const auto tokenizer = byte_file().load();
  const auto expected = *tokenizer->encode("some words, some more words");
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (size_t t = 0; t < same.size(); ++t) {
    threads.emplace_back([&, t] {
      same[t] = true;
      for (int i = 0; i < 200; ++i) {
        same[t] = same[t] && *tokenizer->encode("some words, some more words") == expected;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(same, testing::Each(true));
}

TEST(Tokenizer, MillionsOfCharactersOfAnyKindAreNotQuadratic) {
  for (const char* text : {"a", " ", "\xFF", "<"}) {
    File file = byte_file();
    file.added = R"([{"id":256,"content":"<<<<<<<<>","lstrip":true}])";
    const auto tokenizer = file.load();
    std::string long_text;
    for (int i = 0; i < 1'000'000; ++i) long_text += text;
    const auto ids = tokenizer->encode(long_text);
    ASSERT_TRUE(ids.ok());
    ASSERT_GE(ids->size(), 1'000'000U);
  }
}

TEST(Tokenizer, ScoresAreReadAsTheReferenceReadsThem) {
  // The nearest double of -1.9331379051038073 ends in ..73, the reference's in ..71.
  const auto doc =
      JsonDoc::parse("[-1.9331379051038073, 0.1, -2.5e3, 1e300, 12345678901234567890123.5]", "x");
  ASSERT_TRUE(doc.ok());
  EXPECT_EQ(doc->root().item(0).real(), -1.9331379051038071);
  EXPECT_EQ(doc->root().item(1).real(), 0.1);
  EXPECT_EQ(doc->root().item(2).real(), -2500);
  EXPECT_EQ(doc->root().item(3).real(), 1e300);
  EXPECT_GT(doc->root().item(4).real(), 1.2e22);
}

TEST(Tokenizer, ReplacementsOfACharsmapBeginAtCharacters) {
  // A trie that maps the space to one of the replacements "\xC3\xA9": at byte 0 or at byte 1.
  const auto ids = [](const std::string& at) {
    const auto made =
        Tokenizer::from_json(R"({"model":{"type":"Unigram","unk_id":0,)"
                             R"("vocab":[["<unk>",0.0],["a",-1.0],[" ",-2.0],["\u00e9",-2.0]]},)"
                             R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"i)" +
                             std::string(175, 'A') + "IAUAAA" + at + "AAADDqQA=\"}}");
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *(*made)->encode("a ");
  };
  EXPECT_THAT(ids("A"), ElementsAre(1, 3));
  EXPECT_THAT(ids("E"), ElementsAre(1, 2)) << "half a character is no replacement";
}

TEST(TokenizerErrors, NameTheKey) {
  File file;
  file.merges = R"(["a b","a b c"])";
  EXPECT_THAT(file.failure(), HasSubstr("model.merges[1]"));
  file.merges = R"([["a","b","c"]])";
  EXPECT_THAT(file.failure(), HasSubstr("model.merges[0]"));
  file.merges = R"(["a c"])";
  EXPECT_THAT(file.failure(), HasSubstr("model.merges[0]: result \"ac\" is not in the vocabulary"));
  file.merges = R"(["a x"])";
  EXPECT_THAT(file.failure(), HasSubstr("part \"x\""));
  file.merges = R"([7])";
  EXPECT_THAT(file.failure(), HasSubstr("is a number"));
  file = File{};
  file.vocab = R"({"a":0,"b":0})";
  EXPECT_THAT(file.failure(), HasSubstr("model.vocab[\"b\"]: id 0 is that of \"a\" too"));
  file.vocab = R"({"a":0,"a":1})";
  EXPECT_THAT(file.failure(), HasSubstr("\"a\" stands twice"));
  file.vocab = R"({"a":4294967295})";
  EXPECT_THAT(file.failure(), HasSubstr("model.vocab[\"a\"]"));
  file.vocab = R"({"a":-1})";
  EXPECT_THAT(file.failure(), HasSubstr("model.vocab[\"a\"]"));
  file.vocab = R"({"a":"b"})";
  EXPECT_THAT(file.failure(), HasSubstr("is a string, not a number"));
  file.vocab = "[]";
  EXPECT_THAT(file.failure(), HasSubstr("model.vocab: is an array, not an object"));
}

TEST(TokenizerErrors, UnknownTypesNameTheKnownOnes) {
  const std::string odd = R"({"type":"Odd"})";
  File file;
  file.normalizer = odd;
  EXPECT_THAT(file.failure(), HasSubstr("unknown normalizer \"Odd\"; known: Sequence, NFC"));
  file = File{};
  file.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[)" + odd + "]}";
  EXPECT_THAT(file.failure(), HasSubstr("pre_tokenizer.pretokenizers[0].type: unknown"));
  file = File{};
  file.decoder = odd;
  EXPECT_THAT(file.failure(), HasSubstr("known: Sequence, ByteLevel"));
  file = File{};
  file.post_processor = odd;
  EXPECT_THAT(file.failure(), HasSubstr("known: Sequence, ByteLevel, TemplateProcessing"));
  const auto model = Tokenizer::from_json(R"({"model":{"type":"WordPiece"}})");
  EXPECT_THAT(model.status().message(), HasSubstr("known: BPE, Unigram"));
}

TEST(TokenizerErrors, AddedTokensThatCollideAreRefused) {
  File file;
  file.added = R"([{"id":1,"content":"<s>"}])";
  EXPECT_THAT(file.failure(), HasSubstr("added_tokens[0].id"));
  file.added = R"([{"id":6,"content":"<s>"},{"id":6,"content":"<t>"}])";
  EXPECT_THAT(file.failure(), HasSubstr("added_tokens[1].id"));
  file.added = R"([{"id":6,"content":"<s>"},{"id":7,"content":"<s>"}])";
  EXPECT_THAT(file.failure(), HasSubstr("added_tokens[1]"));
  file.added = R"([{"id":3000000000,"content":"<s>"}])";
  EXPECT_THAT(file.failure(), HasSubstr("added_tokens[0].id"));
  file.added = R"([{"id":6,"content":""}])";
  EXPECT_THAT(file.failure(), HasSubstr("content: is empty"));
}

TEST(TokenizerErrors, PatternsAreChecked) {
  File file;
  const auto with = [&](const std::string& pattern) {
    file.pre_tokenizer =
        R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":)" + pattern + "}";
    return file.failure();
  };
  EXPECT_THAT(with(R"({"Regex":"(a"})"), HasSubstr("pre_tokenizer.pattern.Regex"));
  EXPECT_THAT(with(R"({"Regex":"[a&&b]"})"), HasSubstr("&& in a class"));
  EXPECT_THAT(with(R"({"Glob":"a"})"), HasSubstr("known: String, Regex"));
  EXPECT_THAT(with(R"("a")"), HasSubstr("pre_tokenizer.pattern: is a string"));
}

TEST(TokenizerErrors, DocumentsThatAreNotJsonAreRefused) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("nul"),
        std::string("{\"model\": 1}"), std::string("{\"a\": \"\xFF\"}"), deep,
        std::string("{\"model\":{\"type\":\"BPE\"}}"), File{}.text() + "x"}) {
    const auto made = Tokenizer::from_json(text);
    ASSERT_FALSE(made.ok()) << text.substr(0, 40);
    EXPECT_EQ(made.status().message().find('\n'), std::string::npos) << made.status().message();
    EXPECT_TRUE(made.status().message().starts_with("tokenizer.json"));
  }
}

TEST(TokenizerErrors, QuotedTokensStayOnOneLine) {
  File file;
  file.vocab = R"({"a\nb":0,"a\nb":1})";
  EXPECT_THAT(Tokenizer::from_json(file.text()).status().message(), HasSubstr("\"a?b\" stands"));
}

TEST(TokenizerErrors, FilesThatCannotBeOneAreNotRead) {
  EXPECT_THAT(Tokenizer::load("/dev/zero").status().message(), HasSubstr("not a regular file"));
  const std::string path = ::testing::TempDir() + "sluice-large-tokenizer.json";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, uint64_t{1} << 33);  // holes: it takes no space
  EXPECT_THAT(Tokenizer::load(path).status().message(), HasSubstr("at most"));
  std::filesystem::remove(path);
}

TEST(TokenizerErrors, StepsThatMultiplyATextAreStopped) {
  File file;
  std::string step = R"({"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaaaaaaaa"})";
  file.normalizer = step;
  for (int i = 1; i < 40; ++i) file.normalizer += "," + step;
  file.normalizer = R"({"type":"Sequence","normalizers":[)" + file.normalizer + "]}";
  EXPECT_EQ(file.load()->encode("a").status().code(), Code::ResourceExhausted);
  file.normalizer = "null";
  file.pre_tokenizer = kBytes;
  for (int i = 1; i < 60; ++i) file.pre_tokenizer += std::string(",") + kBytes;
  file.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[)" + file.pre_tokenizer + "]}";
  EXPECT_THAT(file.failure(), HasSubstr("more than 64 steps"));
}

TEST(TokenizerErrors, APatternThatExplodesEndsWithAnError) {
  File file;
  file.pre_tokenizer =
      R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"(a|aa)+[bc]"}})";
  std::string text;
  for (int i = 0; i < 4000; ++i) text += 'a';
  const auto ids = file.load()->encode(text);
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.status().code(), Code::ResourceExhausted);
}

}  // namespace
}  // namespace sluice
