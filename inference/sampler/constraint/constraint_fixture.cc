#include "inference/sampler/constraint/constraint_fixture.h"

#include "dataflow/base/random.h"

#include <gtest/gtest.h>

namespace sluice {

ConstraintFixture::ConstraintFixture()
    : tokenizer_(byte_tokenizer({"{\"", "\": ", "\", \"", "\"}", "true", "null", "12", "é", "  ",
                                 "[1", "\": {\"", "abc", "\\u00"})),
      end_(static_cast<int64_t>(tokenizer_->vocab_size()) - 1),
      trie_(std::make_shared<TokenTrie>(TokenTrie::of(*tokenizer_, end_ + 1))) {}

ConstraintMasks ConstraintFixture::masks(std::shared_ptr<const Constraint> constraint) const {
  return {std::move(constraint), trie_, std::vector<int64_t>{end_}};
}

std::optional<std::string> ConstraintFixture::draw(ConstraintMasks& masks, uint64_t seed) {
  std::vector<float> row(static_cast<size_t>(end_ + 1));
  SamplingParams params;
  params.logit_bias = {{end_, 3.0F}, {'"', 3.0F}, {'}', 2.0F}, {']', 2.0F}};
  std::string text;
  auto state = ConstraintMasks::kStart;
  for (uint64_t i = 0; i < 600; ++i) {
    const RandomKey key = RandomKey(seed).split(i);
    for (size_t t = 0; t < row.size(); ++t) row[t] = 2 * key.normal(t)[0];
    const auto mask = masks.mask(state);
    const auto drawn = sampler_.sample(row, params, {}, seed, 0, i, {mask.get(), {}});
    EXPECT_TRUE(drawn.ok()) << drawn.status().message() << " after " << text;
    if (!drawn.ok()) return std::nullopt;
    if (drawn->token == end_) return text;
    state = masks.advance(state, drawn->token);
    EXPECT_NE(state, ConstraintMasks::kDead);
    if (state == ConstraintMasks::kDead) return std::nullopt;
    text += trie_->bytes(drawn->token);
  }
  return std::nullopt;
}

}  // namespace sluice
