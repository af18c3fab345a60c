// Equality with Hugging Face tokenizers on megabytes of text, when SLUICE_ORACLE_PYTHON names an
// interpreter that has it. SLUICE_ORACLE_MEGABYTES says how many (10); SLUICE_ORACLE_FOLDER is a
// folder that testdata/make_golden.py has filled before.
#include "dataflow/base/files.h"
#include "models/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace sluice {
namespace {

const std::string kFolder = SLUICE_SOURCE_DIR "/models/tokenizer/testdata";

std::string read(const std::string& path) {
  auto text = read_file(path);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
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

/// Blocks of a length (or count) and so many items.
class Blocks {
 public:
  explicit Blocks(std::string data) : data_(std::move(data)) {}
  [[nodiscard]] bool more() const { return at_ < data_.size(); }
  std::string_view next(size_t item) {
    uint32_t count = 0;
    std::memcpy(&count, data_.data() + at_, sizeof count);
    const std::string_view block(data_.data() + at_ + sizeof count, count * item);
    at_ += sizeof count + block.size();
    return block;
  }

 private:
  std::string data_;
  size_t at_ = 0;
};

TEST(TokenizerOracle, IdsAndTextsEqualTheReferenceOnMegabytes) {
  const char* const python = std::getenv("SLUICE_ORACLE_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_PYTHON is not set";
  const char* const size = std::getenv("SLUICE_ORACLE_MEGABYTES");
  const char* const given = std::getenv("SLUICE_ORACLE_FOLDER");
  const std::string folder =
      given != nullptr ? given : ::testing::TempDir() + "/sluice_tokenizer_oracle";
  if (given == nullptr) {
    std::filesystem::create_directories(folder);
    const std::string command = "'" + std::string(python) + "' '" + kFolder + "/make_golden.py' '" +
                                folder + "' " + (size != nullptr ? size : "10");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    const std::string base = (file.path().parent_path() / file.path().stem()).string();
    for (const bool scanners : {true, false}) {
      const auto loaded = Tokenizer::from_json(read(base + ".json"), base, {scanners});
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      Blocks chunks(read(folder + "/chunks.bin"));
      Blocks ids(read(base + ".ids"));
      Blocks texts(read(base + ".text"));
      size_t number = 0;
      size_t bytes = 0;
      for (; chunks.more(); ++number) {
        const std::string_view chunk = chunks.next(1);
        const std::string_view raw = ids.next(sizeof(TokenId));
        std::vector<TokenId> want(raw.size() / sizeof(TokenId));
        std::memcpy(want.data(), raw.data(), raw.size());
        const auto found = (*loaded)->encode(chunk);
        ASSERT_TRUE(found.ok()) << found.status().message();
        ASSERT_EQ(*found, want) << base << " chunk " << number << ": " << chunk;
        const std::string_view text = texts.next(1);
        ASSERT_EQ((*loaded)->decode(want), text) << base << " chunk " << number;
        if (scanners) {
          ASSERT_EQ(streamed(**loaded, want, true), text) << base << " chunk " << number;
        }
        bytes += chunk.size();
      }
      std::printf("%s%s: %zu chunks, %zu bytes equal\n", file.path().stem().c_str(),
                  scanners ? "" : " (PCRE2)", number, bytes);
    }
    ++compared;
  }
  EXPECT_GE(compared, 12U);
  if (given == nullptr) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice
