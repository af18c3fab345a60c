#include "inference/sampler/byte_tokenizer.h"

#include "models/tokenizer/byte_alphabet.h"

#include <nlohmann/json.hpp>

namespace sluice {

std::unique_ptr<Tokenizer> byte_tokenizer(const std::vector<std::string>& pieces) {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int b = 0; b < 256; ++b) {
    vocabulary[std::string(byte_alphabet::of(static_cast<unsigned char>(b)))] = b;
  }
  int64_t next = 256;
  for (const std::string& piece : pieces) vocabulary[byte_alphabet::encode(piece)] = next++;
  const nlohmann::json special = {
      {"id", next},      {"content", "<|end|>"}, {"special", true},    {"lstrip", false},
      {"rstrip", false}, {"single_word", false}, {"normalized", false}};
  const nlohmann::json file = {
      {"added_tokens", {special}},
      {"pre_tokenizer",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}};
  auto made = Tokenizer::from_json(file.dump(), "test");
  SLUICE_CHECK(made.ok()) << made.status().message();
  return *std::move(made);
}

}  // namespace sluice
