#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// How a count of no common n-gram is kept from making the whole score 0 (Chen and Cherry, WMT
/// 2014, "A systematic comparison of smoothing techniques for sentence-level BLEU").
enum class BleuSmoothing : uint8_t {
  None,    ///< it is 0 then
  Floor,   ///< method 1: a small number stands for a count of 0
  AddOne,  ///< method 2: 1 is added to counts and totals of n > 1
  Exp,     ///< method 3 (NIST): the k-th count of 0 becomes 1 / 2^k
};

struct BleuOptions {
  int max_n = 4;  ///< n-grams of 1 .. max_n tokens weigh the same
  BleuSmoothing smoothing = BleuSmoothing::Floor;
  double floor = 0.1;  ///< the count that stands for 0 with Floor
};

/// BLEU (Papineni et al., ACL 2002) of one sequence of token ids against its references: the
/// geometric mean of the clipped n-gram precisions times the brevity penalty, whose reference
/// length is the closest one (of two equally close, the shorter). In [0, 1]; 0 for an empty
/// candidate, for no references and when no token is shared. As in TensorBLEU (arXiv 2508.05485)
/// the ids are compared as they are: nothing is decoded, nothing is tokenised again.
[[nodiscard]] double sentence_bleu(std::span<const int64_t> candidate,
                                   std::span<const std::span<const int64_t>> references,
                                   const BleuOptions& options = {});

/// Rows of ids of different lengths, one behind the other: row i is
/// `ids[ends[i - 1] .. ends[i])`, the first begins at 0.
struct IdRows {
  std::span<const int64_t> ids;
  std::span<const int64_t> ends;
  [[nodiscard]] size_t rows() const noexcept { return ends.size(); }
  [[nodiscard]] std::span<const int64_t> row(size_t i) const;
};

/// sentence_bleu of every row of `candidates`; row i's references are rows [i * k, (i + 1) * k) of
/// `references`, k = references.rows() / candidates.rows(), which must be whole.
[[nodiscard]] std::vector<double> sentence_bleu_rows(const IdRows& candidates,
                                                     const IdRows& references,
                                                     const BleuOptions& options = {});

}  // namespace sluice
