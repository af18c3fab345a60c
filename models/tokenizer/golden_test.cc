// Equality with Hugging Face tokenizers on the golden files (testdata/make_golden.py).
#include "dataflow/base/files.h"
#include "models/tokenizer/tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

const std::string kFolder = SLUICE_SOURCE_DIR "/models/tokenizer/testdata";

std::string read(const std::string& path) {
  auto text = read_file(path);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool skip) {
  StreamDecoder stream = tokenizer.stream({skip});
  std::string all;
  for (const TokenId id : ids) {
    const std::string more = stream.put(id);
    EXPECT_TRUE(utf8::valid(more));
    all += more;
  }
  return all + stream.finish();
}

TEST(TokenizerGolden, IdsAndTextsEqualTheReferenceForEveryStyle) {
  const auto cases = nlohmann::json::parse(read(kFolder + "/golden/cases.json"));
  ASSERT_GE(cases["tokenizers"].size(), 12U);
  for (const auto& [name, expected] : cases["tokenizers"].items()) {
    const std::string json = read(kFolder + "/golden/" + name + ".json");
    for (const bool scanners : {true, false}) {
      SCOPED_TRACE(name + (scanners ? " with scanners" : " without scanners"));
      const auto loaded = Tokenizer::from_json(json, name, {scanners});
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      const Tokenizer& tokenizer = **loaded;
      for (size_t i = 0; i < cases["texts"].size(); ++i) {
        const std::string text = from_hex(cases["texts"][i]);
        const auto ids = tokenizer.encode(text);
        ASSERT_TRUE(ids.ok()) << ids.status().message();
        const std::vector<TokenId> want = expected["ids"][i];
        ASSERT_EQ(*ids, want) << "text " << i << ": " << text;
        const std::string decoded = expected["decoded"][i];
        ASSERT_EQ(tokenizer.decode(want), decoded) << "text " << i;
        ASSERT_EQ(streamed(tokenizer, want, true), decoded) << "text " << i;
        if (i < expected["decoded_all"].size()) {
          const std::string all = expected["decoded_all"][i];
          ASSERT_EQ(tokenizer.decode(want, {false}), all);
          ASSERT_EQ(streamed(tokenizer, want, false), all);
        }
        if (i < expected["plain"].size()) {
          const std::vector<TokenId> plain = expected["plain"][i];
          ASSERT_EQ(*tokenizer.encode(text, {false, false}), plain) << "text " << i;
        }
      }
    }
  }
}

TEST(TokenizerGolden, BytesOfAllTokensTogetherAreTheText) {
  const auto cases = nlohmann::json::parse(read(kFolder + "/golden/cases.json"));
  size_t compared = 0;
  for (const auto& [name, expected] : cases["tokenizers"].items()) {
    const auto tokenizer = Tokenizer::from_json(read(kFolder + "/golden/" + name + ".json"), name);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    for (size_t i = 0; i < expected["ids"].size(); ++i) {
      const std::vector<TokenId> ids = expected["ids"][i];
      std::string joined;
      for (const TokenId id : ids) {
        if (!(*tokenizer)->is_special(id)) joined += (*tokenizer)->bytes_behind(id);
      }
      // What is no text decodes to replacements, by rules of each decoder.
      if (!utf8::valid(joined)) continue;
      const std::string decoded = expected["decoded"][i];
      EXPECT_TRUE(joined == decoded || joined == " " + decoded) << name << " text " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300U);
}

}  // namespace
}  // namespace sluice
