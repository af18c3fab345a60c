#include "inference/kernels/attention_kernels.h"

#include "dataflow/base/random.h"
#include "inference/kernels/paged_attention.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

using Floats = std::vector<float>;

constexpr Isa kVariants[] = {Isa::Plain, Isa::Avx2, Isa::Avx512};
constexpr KvFormat kFormats[] = {KvFormat::Fp32, KvFormat::Bf16, KvFormat::Int8};

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Sequences of random keys and values in shuffled blocks; unwritten slots are not numbers.
struct Store {
  Store(const AttentionSpec& s, KvFormat f, int64_t block, std::vector<int64_t> tokens)
      : spec(s), format(f), block_size(block), lengths(std::move(tokens)) {
    int64_t blocks = 0;
    for (const int64_t n : lengths) {
      tables.emplace_back();
      for (int64_t i = 0; i * block < n; ++i) {
        tables.back().push_back(static_cast<int32_t>(blocks++));
      }
    }
    // The order of blocks in memory is not that of the tokens.
    for (auto& table : tables) {
      for (int32_t& b : table) b = static_cast<int32_t>(blocks - 1 - b);
    }
    const int64_t slots = blocks * spec.kv_heads * block;
    for (Part* part : {&k, &v}) {
      part->numbers.assign(static_cast<size_t>(slots * spec.head_dim),
                           std::numeric_limits<float>::quiet_NaN());
      part->factors.assign(static_cast<size_t>(slots), std::numeric_limits<float>::quiet_NaN());
      part->halves.assign(part->numbers.size(), 0x7FC0);
      part->bytes.assign(part->numbers.size(), 0);
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
      for (int64_t t = 0; t < lengths[i]; ++t) {
        for (int64_t h = 0; h < spec.kv_heads; ++h) write(i, t, h);
      }
    }
  }

  size_t element(size_t sequence, int64_t token, int64_t head) const {
    const int64_t block = tables[sequence][static_cast<size_t>(token / block_size)];
    return static_cast<size_t>(((block * spec.kv_heads + head) * block_size + token % block_size) *
                               spec.head_dim);
  }

  void write(size_t sequence, int64_t token, int64_t head) {
    const size_t at = element(sequence, token, head);
    const auto id = static_cast<uint64_t>((token * 31 + head) * 1009) * 16 + sequence;
    for (Part* part : {&k, &v}) {
      const RandomKey key = RandomKey(part == &k ? 1 : 2).split(id);
      float largest = 0;
      for (int64_t d = 0; d < spec.head_dim; ++d) {
        const float x = key.normal(static_cast<uint64_t>(d))[0];
        part->numbers[at + static_cast<size_t>(d)] = x;
        largest = std::max(largest, std::fabs(x));
      }
      part->factors[at / static_cast<size_t>(spec.head_dim)] = largest / 127;
      for (size_t i = at; i < at + static_cast<size_t>(spec.head_dim); ++i) {
        float& x = part->numbers[i];
        uint32_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        part->halves[i] = static_cast<uint16_t>(bits >> 16);
        part->bytes[i] = static_cast<int8_t>(std::nearbyint(x / largest * 127));
        // The reference sees what is stored.
        bits &= 0xFFFF0000U;
        if (format == KvFormat::Bf16) std::memcpy(&x, &bits, sizeof x);
        if (format == KvFormat::Int8) x = static_cast<float>(part->bytes[i]) * (largest / 127);
      }
    }
  }

  PagedKvView view() const {
    PagedKvView kv;
    kv.format = format;
    kv.k = k.data(format);
    kv.v = v.data(format);
    kv.block_size = block_size;
    kv.slot_stride = spec.head_dim;
    kv.head_stride = block_size * kv.slot_stride;
    kv.block_stride = spec.kv_heads * kv.head_stride;
    kv.k_factors = k.factors.data();
    kv.v_factors = v.factors.data();
    return kv;
  }
  PagedRow row(size_t sequence, int64_t length) const { return {tables[sequence].data(), length}; }

  /// One query by the definition, in double.
  std::vector<double> attend(size_t sequence, int64_t length, int64_t head, const float* q) const {
    const int64_t kv_head = head / (spec.heads / spec.kv_heads);
    const int64_t first = spec.window > 0 ? std::max<int64_t>(0, length - spec.window) : 0;
    std::vector<double> scores;
    for (int64_t t = first; t < length; ++t) {
      const size_t at = element(sequence, t, kv_head);
      double score = 0;
      for (size_t d = 0; d < static_cast<size_t>(spec.head_dim); ++d) {
        score += static_cast<double>(q[d]) * static_cast<double>(k.numbers[at + d]);
      }
      score *= spec.scale;
      const double cap = spec.logit_softcap;
      scores.push_back(cap > 0 ? cap * std::tanh(score / cap) : score);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& s : scores) sum += s = std::exp(s - largest);
    std::vector<double> out(static_cast<size_t>(spec.head_dim) + 1);
    for (int64_t t = first; t < length; ++t) {
      const size_t at = element(sequence, t, kv_head);
      for (size_t d = 0; d < static_cast<size_t>(spec.head_dim); ++d) {
        out[d] +=
            scores[static_cast<size_t>(t - first)] / sum * static_cast<double>(v.numbers[at + d]);
      }
    }
    out.back() = largest + std::log(sum);
    return out;
  }

  struct Part {
    const void* data(KvFormat f) const {
      if (f == KvFormat::Fp32) return numbers.data();
      return f == KvFormat::Bf16 ? static_cast<const void*>(halves.data()) : bytes.data();
    }
    Floats numbers;
    std::vector<uint16_t> halves;
    std::vector<int8_t> bytes;
    Floats factors;
  };
  AttentionSpec spec;
  KvFormat format;
  int64_t block_size;
  std::vector<int64_t> lengths;
  std::vector<std::vector<int32_t>> tables;
  Part k;
  Part v;
};

AttentionSpec spec_of(int64_t heads, int64_t kv_heads, int64_t head_dim, int64_t window = 0,
                      double softcap = 0) {
  AttentionSpec spec;
  spec.heads = heads;
  spec.kv_heads = kv_heads;
  spec.head_dim = head_dim;
  spec.scale = 1 / std::sqrt(static_cast<double>(head_dim));
  spec.window = window;
  spec.logit_softcap = softcap;
  return spec;
}

Floats queries(const AttentionSpec& spec, size_t rows) {
  Floats q(rows * static_cast<size_t>(spec.heads * spec.head_dim));
  for (size_t i = 0; i < q.size(); ++i) q[i] = 2 * RandomKey(9).normal(i)[0];
  return q;
}

struct Answer {
  Floats out;
  Floats log_sums;
};
Answer attend(const AttentionSpec& spec, const Floats& q, const PagedKvView& kv,
              const std::vector<PagedRow>& rows) {
  Answer answer{Floats(q.size(), 77.0F),
                Floats(rows.size() * static_cast<size_t>(spec.heads), 77.0F)};
  paged_attention(spec, q.data(), kv, rows, answer.out.data(), answer.log_sums.data());
  return answer;
}

/// The same through one variant's table, a row and key head at a time.
Floats by_table(Isa isa, const AttentionSpec& spec, const Floats& q, const PagedKvView& kv,
                const std::vector<PagedRow>& rows) {
  const AttentionKernels& kernels = attention_kernels(isa);
  const int64_t share = spec.heads / spec.kv_heads;
  const auto size = static_cast<size_t>(AttentionKernels::partial_size(spec.head_dim));
  Floats out(q.size());
  Floats total(size * static_cast<size_t>(share));
  Floats next(total.size());
  Floats scratch(static_cast<size_t>(AttentionKernels::scratch_size(share, spec.head_dim)));
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int64_t h = 0; h < spec.kv_heads; ++h) {
      const size_t first = (r * static_cast<size_t>(spec.heads) + static_cast<size_t>(h * share)) *
                           static_cast<size_t>(spec.head_dim);
      AttentionTask t;
      t.kv = kv;
      t.blocks = rows[r].blocks;
      t.kv_head = h;
      t.head_dim = spec.head_dim;
      t.scale = static_cast<float>(spec.scale);
      t.softcap = static_cast<float>(spec.logit_softcap);
      t.window = spec.window;
      t.q = q.data() + first;
      t.rows = 1;
      t.share = share;
      t.lengths = &rows[r].length;
      std::fill(total.begin(), total.end(), 0.0F);
      for (int64_t s = 0; s * AttentionKernels::kSplit < rows[r].length; ++s) {
        kernels.attend(t, s, next.data(), scratch.data());
        kernels.merge(total.data(), next.data(), share, spec.head_dim);
      }
      for (size_t i = 0; i < static_cast<size_t>(share); ++i) {
        kernels.finish(total.data() + i * size, spec.head_dim,
                       out.data() + first + i * static_cast<size_t>(spec.head_dim));
      }
    }
  }
  return out;
}

struct Case {
  AttentionSpec spec;
  int64_t block_size;
};
const Case kCases[] = {
    {spec_of(3, 1, 64), 32},          {spec_of(9, 3, 64), 16},        {spec_of(4, 4, 20), 8},
    {spec_of(8, 1, 80, 100), 32},     {spec_of(2, 2, 128, 0, 20), 5}, {spec_of(4, 2, 8, 1), 32},
    {spec_of(40, 1, 16, 300, 5), 64}, {spec_of(1, 1, 1), 1},
};

TEST(PagedAttention, EqualsTheDefinition) {
  const std::vector<int64_t> lengths = {1, 7, 31, 32, 33, 255, 256, 257, 700};
  for (const Case& c : kCases) {
    for (const KvFormat format : kFormats) {
      SCOPED_TRACE(fmt::format("{} heads of {}, {} keys, format {}", c.spec.heads, c.spec.head_dim,
                               c.spec.kv_heads, static_cast<int>(format)));
      const Store store(c.spec, format, c.block_size, lengths);
      std::vector<PagedRow> rows;
      for (size_t i = 0; i < lengths.size(); ++i) rows.push_back(store.row(i, lengths[i]));
      const Floats q = queries(c.spec, rows.size());
      const Answer answer = attend(c.spec, q, store.view(), rows);
      double worst = 0;
      const auto dim = static_cast<size_t>(c.spec.head_dim);
      for (size_t i = 0; i < answer.log_sums.size(); ++i) {
        const size_t row = i / static_cast<size_t>(c.spec.heads);
        const auto head = static_cast<int64_t>(i % static_cast<size_t>(c.spec.heads));
        const auto want = store.attend(row, lengths[row], head, q.data() + i * dim);
        for (size_t d = 0; d < dim; ++d) {
          worst =
              std::max(worst, std::fabs(want[d] - static_cast<double>(answer.out[i * dim + d])));
        }
        EXPECT_NEAR(answer.log_sums[i], want.back(), 1e-4);
      }
      EXPECT_LE(worst, 2e-5);
      for (const Isa isa : kVariants) {
        if (!supported(isa)) continue;
        EXPECT_TRUE(same_bits(by_table(isa, c.spec, q, store.view(), rows), answer.out))
            << name(isa);
      }
    }
  }
}

TEST(PagedAttention, ARowDoesNotDependOnTheOthersTheBlocksOrTheThreads) {
  const int threads = at::get_num_threads();
  for (const AttentionSpec& spec : {spec_of(6, 2, 64), spec_of(6, 2, 64, 130), spec_of(4, 1, 24)}) {
    for (const KvFormat format : kFormats) {
      const std::vector<int64_t> lengths = {600, 40, 900};
      const Store store(spec, format, 32, lengths);
      // A prompt in whole, then decoding rows of two sequences.
      std::vector<PagedRow> rows;
      for (int64_t n = 1; n <= 600; ++n) rows.push_back(store.row(0, n));
      rows.push_back(store.row(1, 40));
      rows.push_back(store.row(2, 900));
      const Floats q = queries(spec, rows.size());
      const Answer all = attend(spec, q, store.view(), rows);
      const auto stride = static_cast<size_t>(spec.heads * spec.head_dim);
      for (const int n : {1, 2, 3}) {
        at::set_num_threads(n);
        EXPECT_TRUE(same_bits(attend(spec, q, store.view(), rows).out, all.out)) << n;
        for (const size_t i :
             {size_t{0}, size_t{255}, size_t{256}, size_t{599}, size_t{600}, size_t{601}}) {
          const Floats own(q.begin() + static_cast<int64_t>(i * stride),
                           q.begin() + static_cast<int64_t>((i + 1) * stride));
          const Floats want(all.out.begin() + static_cast<int64_t>(i * stride),
                            all.out.begin() + static_cast<int64_t>((i + 1) * stride));
          EXPECT_TRUE(same_bits(attend(spec, own, store.view(), {rows[i]}).out, want)) << i;
        }
      }
      at::set_num_threads(threads);
      for (const int64_t block : {1, 7, 1000}) {
        const Store other(spec, format, block, lengths);
        std::vector<PagedRow> moved;
        for (int64_t n = 1; n <= 600; ++n) moved.push_back(other.row(0, n));
        moved.push_back(other.row(1, 40));
        moved.push_back(other.row(2, 900));
        EXPECT_TRUE(same_bits(attend(spec, q, other.view(), moved).out, all.out)) << block;
      }
    }
  }
}

TEST(PagedAttention, NotANumberInAQueryOrKeyStaysWithWhoSeesIt) {
  const AttentionSpec spec = spec_of(2, 1, 64);
  Store store(spec, KvFormat::Fp32, 32, {300, 300});
  store.k.numbers[store.element(0, 100, 0) + 3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<PagedRow> rows = {store.row(0, 300), store.row(0, 100), store.row(1, 300),
                                      store.row(1, 300)};
  Floats q = queries(spec, rows.size());
  q[3 * 128] = std::numeric_limits<float>::quiet_NaN();
  const Answer answer = attend(spec, q, store.view(), rows);
  const auto broken = [&](size_t row, size_t head) {
    return std::isnan(answer.out[row * 128 + head * 64 + 5]);
  };
  EXPECT_TRUE(broken(0, 0) && broken(0, 1)) << "sees the key";
  EXPECT_FALSE(broken(1, 0) || broken(1, 1)) << "ends before the key";
  EXPECT_FALSE(broken(2, 0) || broken(2, 1)) << "another sequence";
  EXPECT_TRUE(broken(3, 0)) << "asks with it";
  EXPECT_FALSE(broken(3, 1)) << "another head";
}

TEST(PagedAttention, AQueryThatSeesNoKeyIsRefused) {
  const AttentionSpec spec = spec_of(2, 1, 16);
  const Store store(spec, KvFormat::Fp32, 32, {4});
  const Floats q = queries(spec, 1);
  EXPECT_ANY_THROW(attend(spec, q, store.view(), {store.row(0, 0)}));
}

}  // namespace
}  // namespace sluice
