#include "envs/text/bleu.h"

#include "dataflow/base/result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace sluice {
namespace {

using Ids = std::vector<int64_t>;

double bleu(const Ids& candidate, const std::vector<Ids>& references, const BleuOptions& options) {
  const std::vector<std::span<const int64_t>> spans(references.begin(), references.end());
  return sentence_bleu(candidate, spans, options);
}

TEST(SentenceBleu, AgreesWithNltk) {
  std::ifstream file(SLUICE_SOURCE_DIR "/envs/text/testdata/bleu_golden.json");
  const auto rows = nlohmann::json::parse(file);
  ASSERT_EQ(rows.size(), 40U);
  const std::pair<const char*, BleuSmoothing> methods[] = {{"none", BleuSmoothing::None},
                                                           {"floor", BleuSmoothing::Floor},
                                                           {"add-one", BleuSmoothing::AddOne},
                                                           {"exp", BleuSmoothing::Exp}};
  for (const auto& row : rows) {
    for (const auto& [method, smoothing] : methods) {
      EXPECT_NEAR(bleu(row["candidate"].get<Ids>(), row["references"].get<std::vector<Ids>>(),
                       {row["max_n"].get<int>(), smoothing}),
                  row[method].get<double>(), 1e-12)
          << row.dump() << " " << method;
    }
  }
}

TEST(SentenceBleu, HasTheValuesOfItsEnds) {
  EXPECT_DOUBLE_EQ(bleu({1, 2, 3, 4, 5}, {{1, 2, 3, 4, 5}}, {}), 1);
  EXPECT_EQ(bleu({6, 7, 8, 9}, {{1, 2, 3, 4}}, {}), 0);
  EXPECT_EQ(bleu({}, {{1, 2}}, {}), 0);
  EXPECT_EQ(bleu({1}, {}, {}), 0);
  EXPECT_EQ(bleu({1}, {{}}, {}), 0);
}

TEST(SentenceBleuRows, EqualsRowByRow) {
  const Ids candidates = {1, 2, 3, 9, 9, 4, 5, 6, 7};
  const Ids candidate_ends = {3, 3, 9};
  const Ids references = {1, 2, 3, 1, 2, 8, 8, 5, 9, 4, 5, 6, 7};
  const Ids reference_ends = {3, 5, 6, 7, 8, 13};
  const auto got = sentence_bleu_rows({candidates, candidate_ends}, {references, reference_ends});
  EXPECT_EQ(got, (std::vector<double>{bleu({1, 2, 3}, {{1, 2, 3}, {1, 2}}, {}), 0,
                                      bleu({9, 9, 4, 5, 6, 7}, {{5}, {9, 4, 5, 6, 7}}, {})}));
  EXPECT_GT(got[2], 0.5);
}

TEST(SentenceBleuRows, ChecksItsRows) {
  const Ids ids = {1, 2, 3};
  const Ids two = {1, 3};
  const Ids three = {1, 2, 3};
  const Ids beyond = {1, 4};
  EXPECT_THROW((void)sentence_bleu_rows({ids, two}, {ids, three}), CheckFailure);
  EXPECT_THROW((void)sentence_bleu_rows({ids, two}, {ids, beyond}), CheckFailure);
  EXPECT_TRUE(sentence_bleu_rows({}, {}).empty());
}

}  // namespace
}  // namespace sluice
