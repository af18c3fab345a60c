// Constrained decoding through the engine: whatever the logits say, the text is allowed.
#include "dataflow/base/random.h"
#include "inference/engine/engine_support.h"
#include "inference/sampler/byte_tokenizer.h"
#include "inference/sampler/constraint/schema_check.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <regex>
#include <set>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

/// A random model over bytes and some pieces of JSON, whose last token ends a text.
class Constrained : public testing::Test {
 protected:
  Constrained()
      : tokenizer_(byte_tokenizer({"{\"", "\": ", "\", \"", "\"}", "true", "12", "é", "[1", "ab"})),
        end_(static_cast<int64_t>(tokenizer_->vocab_size()) - 1),
        model_(random_model(end_ + 1)) {}

  static Transformer random_model(int64_t vocabulary) {
    TransformerConfig config = model().config();
    config.vocab_size = vocabulary;
    config.initializer_range = 0.4;
    return Transformer(config, Parameters::random(config, RandomKey(5)));
  }

  EngineOptions text_options() const {
    EngineOptions o = options();
    o.blocks = 400;
    o.tokenizer = tokenizer_;
    o.end_tokens = {end_};
    return o;
  }

  static std::shared_ptr<const Constraint> made(Result<std::shared_ptr<const Constraint>> result) {
    SLUICE_CHECK(result.ok()) << result.status().message();
    return *result;
  }

  static GenRequest request(std::shared_ptr<const Constraint> constraint, int32_t n = 1,
                            int32_t max_tokens = 200, uint64_t seed = 7) {
    GenRequest r = drawn_request(prompt(6), max_tokens, seed);
    r.sampling.n = n;
    r.constraint = std::move(constraint);
    return r;
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  int64_t end_;
  Transformer model_;
};

const char* const kPerson =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},"age":{"type":"integer","minimum":0,"maximum":130},"tags":{"type":"array","items":{"enum":["x","yy",null]},"maxItems":3}},"required":["name","age"],"additionalProperties":false})";

TEST_F(Constrained, EveryTextUnderASchemaIsValid) {
  Runner runner(model_, text_options());
  for (const char* text :
       {kPerson, R"({"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":4})",
        R"({"anyOf":[{"const":"ja"},{"type":"integer","minimum":-20,"maximum":99}]})"}) {
    const json schema = json::parse(text);
    const Completion done = runner.complete(request(made(Constraint::json_schema(text)), 16));
    std::set<std::string> different;
    for (const Sample& sample : done.samples) {
      ASSERT_EQ(sample.reason, FinishReason::Stop) << sample.text << sample.error.message();
      EXPECT_EQ(sample.tokens.back(), end_);
      const json value = json::parse(sample.text, nullptr, false);
      ASSERT_FALSE(value.is_discarded()) << sample.text;
      EXPECT_EQ(schema_fault(value, schema, schema), "") << sample.text;
      different.insert(sample.text);
    }
    EXPECT_GT(different.size(), 4U) << text;
  }
}

TEST_F(Constrained, PreemptionBatchAndMasksOfOthersChangeNothing) {
  const auto schema = made(Constraint::json_schema(kPerson));
  const auto digits = made(Constraint::regex("[0-9]{30}"));
  std::vector<GenRequest> requests;
  for (uint64_t i = 0; i < 3; ++i) {
    requests.push_back(request(schema, 2, 60, i));
    requests.push_back(request(digits, 1, 60, i));
    requests.push_back(request(nullptr, 1, 40, i));
  }
  EngineOptions tight = text_options();
  tight.blocks = 26;
  Runner crowded(model_, tight);
  std::vector<RequestId> ids;
  for (const GenRequest& each : requests) ids.push_back(crowded.submit(each));
  crowded.run();
  EXPECT_GT(crowded.engine().stats().scheduler.preemptions, 0);
  for (size_t i = 0; i < requests.size(); ++i) {
    Runner alone(model_, text_options());
    const Completion want = alone.complete(requests[i]);
    for (size_t s = 0; s < want.samples.size(); ++s) {
      EXPECT_EQ(crowded.done(ids[i]).samples[s].tokens, want.samples[s].tokens) << i;
    }
  }
}

TEST_F(Constrained, LogprobsAreThoseOfTheMaskedDistribution) {
  Runner runner(model_, text_options());
  GenRequest r = request(made(Constraint::regex("[abc]x")));
  r.sampling.temperature = 0.7F;
  r.sampling.top_logprobs = static_cast<int32_t>(end_ + 1);
  const Sample sample = runner.complete(r).samples[0];
  // "ab" stands for two of the letters; [abc] are three bytes, and x must follow.
  ASSERT_THAT(sample.tokens, SizeIs(3));
  double mass = 0;
  for (const TokenLogprob& each : sample.top[0]) {
    if (each.token == 'a' || each.token == 'b' || each.token == 'c') {
      mass += std::exp(static_cast<double>(each.logprob));
    }
  }
  EXPECT_EQ(sample.kept[0], 3);
  EXPECT_NEAR(sample.logprobs[0], sample.logprobs_temperature[0] - std::log(mass), 1e-4);
  EXPECT_EQ(sample.kept[1], 1);
  EXPECT_EQ(sample.logprobs[1], 0);
  EXPECT_LT(sample.logprobs_temperature[1], 0);
  EXPECT_EQ(sample.tokens[2], end_);
  EXPECT_EQ(sample.logprobs[2], 0);
}

TEST_F(Constrained, AllTokenPathsOfATextAreAllowed) {
  Runner runner(model_, text_options());
  std::set<std::vector<int64_t>> paths;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Sample s = runner.complete(request(made(Constraint::regex("ab")), 1, 9, seed)).samples[0];
    EXPECT_EQ(s.text, "ab");
    paths.insert(s.tokens);
  }
  EXPECT_THAT(paths, SizeIs(2));
}

TEST_F(Constrained, ResumedGoesOnWhereItStood) {
  Runner runner(model_, text_options());
  const auto schema = made(Constraint::json_schema(kPerson));
  const Completion whole = runner.complete(request(schema, 2));
  const std::vector<int64_t>& all = whole.samples[1].tokens;
  for (const size_t cut : {size_t{1}, all.size() / 2, all.size() - 1}) {
    GenRequest rest = request(schema);
    rest.first_sample = 1;
    rest.generated.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut));
    const Sample end = runner.complete(rest).samples[0];
    std::vector<int64_t> joined = rest.generated;
    joined.insert(joined.end(), end.tokens.begin(), end.tokens.end());
    EXPECT_EQ(joined, all) << cut;
  }
  GenRequest broken = request(schema);
  broken.generated = {'{', 'x'};
  EXPECT_THAT(runner.engine().submit(broken, {}).status().message(),
              HasSubstr("token 1 of those generated breaks the constraint"));
  EXPECT_TRUE(runner.engine().check().ok());
}

TEST_F(Constrained, EndsWithoutAStopTokenWhereNothingCanFollow) {
  Runner runner(model_, text_options());
  GenRequest r = request(made(Constraint::regex("[0-9]{4}")));
  r.sampling.ignore_eos = true;
  const RequestId id = runner.submit(r);
  runner.run();
  const Sample& sample = runner.done(id).samples[0];
  EXPECT_EQ(sample.reason, FinishReason::Stop);
  EXPECT_TRUE(std::regex_match(sample.text, std::regex("[0-9]{4}"))) << sample.text;
  EXPECT_THAT(sample.text, SizeIs(4));
  EXPECT_EQ(runner.streamed(id), sample.tokens);
}

TEST_F(Constrained, EndTokensComeOnlyWhereTheTextMayEnd) {
  Runner runner(model_, text_options());
  GenRequest r = request(made(Constraint::regex("(ab){3,9}")), 8);
  r.sampling.logit_bias = {{end_, 60.0F}};  // as soon as it may
  for (const Sample& sample : runner.complete(r).samples) EXPECT_EQ(sample.text, "ababab");
  r.sampling.min_tokens = 14;  // more than the end token wants
  for (const Sample& sample : runner.complete(r).samples) {
    EXPECT_GE(sample.tokens.size(), 9U);
    EXPECT_TRUE(std::regex_match(sample.text, std::regex("(ab){3,9}"))) << sample.text;
  }
}

TEST_F(Constrained, ADeadEndFailsItsSampleOnly) {
  Runner runner(model_, text_options());
  GenRequest stuck = request(made(Constraint::regex("abq")), 3);
  stuck.sampling.allowed_tokens = {'a', 'b', 'c', end_};
  const RequestId bad = runner.submit(stuck);
  const RequestId good = runner.submit(request(made(Constraint::regex("abq"))));
  const RequestId other = runner.submit(request(nullptr, 1, 9));
  runner.run();
  for (const Sample& sample : runner.done(bad).samples) {
    EXPECT_EQ(sample.reason, FinishReason::Failed);
    EXPECT_EQ(sample.text, "ab");
    EXPECT_THAT(sample.error.message(), HasSubstr("no token is left to draw"));
    EXPECT_THAT(sample.error.message(), HasSubstr("constraint"));
  }
  EXPECT_EQ(runner.done(good).samples[0].text, "abq");
  EXPECT_THAT(runner.done(other).samples[0].tokens, SizeIs(9));
}

TEST_F(Constrained, MaxTokensAndStopStringsEndItEarlier) {
  Runner runner(model_, text_options());
  GenRequest r = request(made(Constraint::regex("[a-z]{50}")), 1, 10);
  EXPECT_EQ(runner.complete(r).samples[0].reason, FinishReason::Length);
  GenRequest stopping = request(made(Constraint::regex("xxxx----yyyy")));
  stopping.sampling.stop = {"--"};
  const Sample sample = runner.complete(stopping).samples[0];
  EXPECT_EQ(sample.reason, FinishReason::Stop);
  EXPECT_EQ(sample.text, "xxxx");
}

TEST_F(Constrained, NeedsATokenizer) {
  EngineOptions o = text_options();
  o.tokenizer = nullptr;
  Runner runner(model_, o);
  EXPECT_THAT(runner.engine().submit(request(made(Constraint::regex("a"))), {}).status().message(),
              HasSubstr("a constraint needs a tokenizer"));
  EXPECT_TRUE(runner.engine().check().ok());
}

}  // namespace
}  // namespace sluice
