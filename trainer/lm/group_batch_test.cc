#include "trainer/lm/group_batch.h"

#include "models/transformer/attention_ops.h"
#include "models/transformer/golden_support.h"
#include "models/transformer/logprobs/model_logprobs.h"
#include "models/transformer/logprobs/next_tokens.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <numeric>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> values(const at::Tensor& t) {
  return {t.data_ptr<int64_t>(), t.data_ptr<int64_t>() + t.numel()};
}

TrainSequence group_of(int64_t prompt, std::vector<int64_t> responses, int64_t vocabulary,
                       uint64_t seed) {
  const RandomKey key(seed);
  uint64_t drawn = 0;
  const auto tokens = [&](int64_t n) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < n; ++i) {
      ids.push_back(static_cast<int64_t>(key.word(drawn++) % static_cast<uint64_t>(vocabulary)));
    }
    return ids;
  };
  TrainSequence group{tokens(prompt), {}};
  for (const int64_t n : responses) group.responses.push_back(tokens(n));
  return group;
}

const TrainSequence kGroup{{5, 6, 7}, {{10, 11}, {20}, {}}};
const std::vector<size_t> kFirst = {0};

TEST(GroupBatch, SharesOneCopyOfThePrompt) {
  const GroupBatch packed = pack_groups({&kGroup, 1}, kFirst, {true, true});
  EXPECT_THAT(values(packed.batch.tokens), ElementsAre(5, 6, 7, 10, 11, 20));
  EXPECT_THAT(values(packed.batch.positions), ElementsAre(0, 1, 2, 3, 4, 3));
  EXPECT_THAT(packed.batch.cu_seqlens, ElementsAre(0, 3, 5, 6));
  EXPECT_THAT(packed.batch.parents, ElementsAre(-1, 0, 0));
  EXPECT_THAT(values(packed.rows), ElementsAre(2, 3, 2));
  EXPECT_THAT(values(packed.targets), ElementsAre(10, 11, 20));
  EXPECT_THAT(values(packed.sequence), ElementsAre(0, 0, 1));
  EXPECT_THAT(packed.group_tokens, ElementsAre(3));
}

TEST(GroupBatch, LeavesOutRowsThatPredictNothing) {
  const GroupBatch packed = pack_groups({&kGroup, 1}, kFirst);
  EXPECT_THAT(values(packed.batch.tokens), ElementsAre(5, 6, 7, 10));
  EXPECT_THAT(packed.batch.cu_seqlens, ElementsAre(0, 3, 4));
  EXPECT_THAT(values(packed.rows), ElementsAre(2, 3, 2));
  EXPECT_THAT(values(packed.targets), ElementsAre(10, 11, 20));
}

TEST(GroupBatch, GivesEachResponseItsOwnPromptInThePlainForm) {
  const GroupBatch packed = pack_groups({&kGroup, 1}, kFirst, {false, true});
  EXPECT_THAT(values(packed.batch.tokens), ElementsAre(5, 6, 7, 10, 11, 5, 6, 7, 20));
  EXPECT_THAT(packed.batch.parents, ElementsAre());
  EXPECT_THAT(values(packed.rows), ElementsAre(2, 3, 7));
  EXPECT_THAT(values(packed.sequence), ElementsAre(0, 0, 1));
}

TEST(GroupBatch, NumbersResponsesOverAllGroups) {
  const std::vector<TrainSequence> groups = {kGroup, {{1}, {{2}}}};
  const std::vector<size_t> which = {1, 0};
  const GroupBatch packed = pack_groups(groups, which);
  EXPECT_THAT(values(packed.targets), ElementsAre(2, 10, 11, 20));
  EXPECT_THAT(values(packed.sequence), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(values(packed.rows), ElementsAre(0, 3, 4, 3));
  EXPECT_THAT(packed.group_tokens, ElementsAre(1, 3));
}

TEST(GroupBatch, EightAnswersOf16TokensToA37TokenPromptCost165) {
  const TrainSequence group = group_of(37, std::vector<int64_t>(8, 16), 100, 1);
  EXPECT_EQ(packed_rows(group, {true, true}), 165);
  EXPECT_EQ(packed_rows(group, {false, true}), 424);
  EXPECT_EQ(packed_rows(group), 157);  // and the last token of an answer predicts nothing
  for (const GroupLayout layout :
       {GroupLayout{true, true}, GroupLayout{false, true}, GroupLayout{}}) {
    EXPECT_EQ(pack_groups({&group, 1}, kFirst, layout).batch.total_tokens(),
              packed_rows(group, layout));
  }
}

TEST(GroupBatch, NamesAGroupThatCannotBeScored) {
  const std::vector<TrainSequence> groups = {kGroup, {{}, {{1}}}};
  EXPECT_THAT(check_groups(groups, 30).message(), HasSubstr("group 1 has an empty prompt"));
  EXPECT_THAT(check_groups({&kGroup, 1}, 20).message(), HasSubstr("group 0 has token 20"));
  EXPECT_TRUE(check_groups({&kGroup, 1}, 21).ok());
}

/// Log-probs and gradients of random weights on them by one layout.
struct Scored {
  at::Tensor logprob;
  std::vector<std::pair<std::string, at::Tensor>> gradients;
};
Scored score(const Transformer& model, std::span<const TrainSequence> groups,
             const GroupLayout& layout) {
  std::vector<size_t> which(groups.size());
  std::iota(which.begin(), which.end(), size_t{0});
  const GroupBatch packed = pack_groups(groups, which, layout);
  const at::Tensor hidden = model.forward(packed.batch).index_select(0, packed.rows);
  const auto out = token_logprobs(hidden, lm_head(model), packed.targets);
  EXPECT_TRUE(out.ok());
  const at::Tensor weights =
      Parameters::random_tensor({"", {packed.targets.numel()}, ParameterInit::Normal, ""}, 1,
                                RandomKey(9))
          .to(out->logprob.scalar_type());
  (out->logprob * weights).sum().backward();
  Scored scored{out->logprob.detach(), {}};
  for (const auto& [name, tensor] : model.parameters().entries()) {
    scored.gradients.emplace_back(name, tensor.grad().clone());
    tensor.mutable_grad().reset();
  }
  return scored;
}

class SharedPrompt : public testing::TestWithParam<const char*> {
 protected:
  void compare(at::ScalarType type, double tolerance, bool softcap_by_definition = false) {
    TransformerConfig config;
    const auto loaded = golden::load(GetParam(), &config);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    const auto weights = golden::read_file(golden::folder(GetParam()) + "/model.safetensors");
    auto parameters = load_parameters(config, golden::reader(*weights), type);
    ASSERT_TRUE(parameters.ok());
    parameters->requires_grad(true);
    Transformer model(config, std::move(*parameters));
    if (softcap_by_definition) model.use(std::make_shared<PlainAttentionOp>());
    const std::vector<TrainSequence> groups = {group_of(7, {5, 1, 3}, config.vocab_size, 1),
                                               group_of(1, {4}, config.vocab_size, 2),
                                               group_of(3, {2, 0, 6}, config.vocab_size, 3)};
    const Scored plain = score(model, groups, {false, true});
    for (const bool feed_last : {true, false}) {
      const Scored shared = score(model, groups, {true, feed_last});
      EXPECT_LE((shared.logprob - plain.logprob).abs().max().item<double>(), tolerance);
      for (size_t i = 0; i < plain.gradients.size(); ++i) {
        const at::Tensor& want = plain.gradients[i].second;
        const double scale = std::max(1.0, want.abs().max().item<double>());
        EXPECT_LE((shared.gradients[i].second - want).abs().max().item<double>(), tolerance * scale)
            << plain.gradients[i].first;
      }
    }
  }
};

TEST_P(SharedPrompt, EqualsThePlainFormInDouble) { compare(at::kDouble, 1e-10); }
TEST_P(SharedPrompt, EqualsThePlainFormInFloat) { compare(at::kFloat, 1e-5); }
TEST_P(SharedPrompt, EqualsThePlainFormByDefinition) { compare(at::kDouble, 1e-10, true); }

// mistral has a window of fewer tokens than these sequences, gemma2 soft caps and every other layer
// windowed, mixtral experts, gpt2 learned positions.
INSTANTIATE_TEST_SUITE_P(Architectures, SharedPrompt,
                         testing::Values("llama", "llama_one_kv_head", "qwen2", "qwen3", "gpt2",
                                         "mistral", "gemma2", "mixtral", "rope_yarn"),
                         [](const auto& info) { return info.param; });

TEST(SharedPromptModels, LeaveOutThoseThatNeedEverySequenceWhole) {
  for (const auto& [name, can] : {std::pair{"llama", true}, std::pair{"rope_dynamic", false},
                                  std::pair{"qwen3_next", false}}) {
    const auto loaded = golden::load(name);
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(continues_sequences(loaded->model.config()), can) << name;
    const TrainSequence group = group_of(3, {2, 2}, loaded->model.config().vocab_size, 1);
    const GroupBatch packed = pack_groups({&group, 1}, kFirst);
    if (!can) {
      EXPECT_THROW(static_cast<void>(loaded->model.forward(packed.batch)), CheckFailure);
    }
  }
}

}  // namespace
}  // namespace sluice
