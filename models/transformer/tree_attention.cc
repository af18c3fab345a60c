// Layout. A family is a sequence without a parent and all that continue it: rows [begin, end) of
// the batch. Scores of one head are a block [rows, depth]: column c is the key at depth c, that is
// c tokens after the first of the family, so that what a row sees is a range of columns.
#include "models/transformer/tree_attention.h"

#include "dataflow/base/aligned.h"
#include "dataflow/base/result.h"
#include "models/transformer/parallel_rows.h"
#include "models/transformer/tree_attention_kernels.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace sluice {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Rows of scores at a time: a block of them and its gradient stay in a private cache.
constexpr int64_t kBlockRows = 96;

const TreeAttentionKernels& kernels() {
  static const TreeAttentionKernels& table = tree_attention_kernels(active_isa());
  return table;
}

const float* floats(const at::Tensor& t) { return static_cast<const float*>(t.const_data_ptr()); }

int64_t whole_vectors(int64_t n) {
  const int64_t width = kernels().width;
  return (n + width - 1) / width * width;
}

struct Sequence {
  int64_t begin = 0, end = 0;  ///< its rows in the batch
  int64_t last = 0;            ///< end of the rows of those that continue it
  int64_t depth = 0;           ///< of its first token
};
struct Family {
  std::vector<Sequence> sequences;  ///< each before those that continue it
  int64_t begin = 0, end = 0;
  int64_t depth = 0;  ///< of the deepest token + 1
};

/// Keys [begin, end) of the batch, the first at `depth`, are seen by the rows [first, last).
struct Piece {
  int64_t first, last, begin, end, depth;
};

/// What the node keeps.
struct Tree : torch::CustomClassHolder {
  AttentionSpec spec;
  std::vector<Family> families;
};

/// False when the sequences that continue one do not lie right behind it.
bool find_families(const PackedBatch& batch, std::vector<Family>& families) {
  std::vector<std::pair<size_t, size_t>> place;  // family and number in it, of each sequence
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(i)];
    const int64_t end = begin + batch.length(i);
    const int64_t parent = batch.parent(i);
    if (parent >= i) return false;
    Sequence own{begin, end, end, 0};
    if (parent < 0) {
      families.push_back({{}, begin, end, 0});
    } else {
      const auto [family, number] = place[static_cast<size_t>(parent)];
      if (family + 1 != families.size()) return false;
      const Sequence& above = families.back().sequences[number];
      if (above.last != begin) return false;
      own.depth = above.depth + above.end - above.begin;
      for (int64_t p = parent; p >= 0; p = batch.parent(p)) {
        families.back().sequences[place[static_cast<size_t>(p)].second].last = end;
      }
    }
    Family& family = families.back();
    family.end = end;
    family.depth = std::max(family.depth, own.depth + end - begin);
    place.emplace_back(families.size() - 1, family.sequences.size());
    family.sequences.push_back(own);
  }
  return true;
}

/// What the rows [first, last) see, in the order of depth for each row. Vectors of a piece may
/// reach past its keys: the next piece of the row overwrites that, or it is masked.
std::vector<Piece> pieces_of(const Family& family, int64_t first, int64_t last) {
  std::vector<Piece> pieces;
  for (const Sequence& s : family.sequences) {
    if (s.begin >= last) break;
    const int64_t own_first = std::max(first, s.begin), own_last = std::min(last, s.end);
    if (own_first < own_last) pieces.push_back({own_first, own_last, s.begin, own_last, s.depth});
    const int64_t below_first = std::max(first, s.end), below_last = std::min(last, s.last);
    if (below_first < below_last) {
      pieces.push_back({below_first, below_last, s.begin, s.end, s.depth});
    }
  }
  return pieces;
}

/// Strides and sizes of the tensors, in floats.
struct Shape {
  explicit Shape(const AttentionSpec& spec)
      : share(spec.heads / spec.kv_heads),
        dim(spec.head_dim),
        q_row(spec.heads * spec.head_dim),
        kv_row(spec.kv_heads * spec.head_dim) {}
  int64_t share, dim, q_row, kv_row;
};

/// One thread's work on a family and one key head.
class HeadWork {
 public:
  HeadWork(const Tree& tree, const Family& family, int64_t kv_head)
      : spec_(tree.spec),
        family_(family),
        shape_(tree.spec),
        kv_head_(kv_head),
        depth_(whole_vectors(family.depth) + kernels().width),
        keys_(whole_vectors(family.end - family.begin) + kernels().width) {}

  void forward(const float* q, const float* k, const float* v, float* out, float* lse) {
    const float* keys = k + kv_head_ * shape_.dim;
    const float* values = v + kv_head_ * shape_.dim;
    transpose(keys, keys_by_column_);
    scores_.resize(static_cast<size_t>(kBlockRows * depth_));
    each_block([&](int64_t head, int64_t first, int64_t last, const std::vector<Piece>& pieces) {
      make(q, head, keys_by_column_, pieces, first, scores_);
      each_row(first, last, [&](int64_t row, const ScoreRow& seen) {
        lse[row * spec_.heads + head] = kernels().softmax(&scores_[offset(row, first)], seen);
      });
      multiply(scores_, values, pieces, first, head, out);
    });
  }

  struct Gradients {
    const float* out;
    const float* lse;
    float* q;
    float* k;
    float* v;
  };
  void backward(const float* q, const float* k, const float* v, const Gradients& g) {
    const int64_t of_head = kv_head_ * shape_.dim;
    transpose(k + of_head, keys_by_column_);
    transpose(v + of_head, values_by_column_);
    scores_.resize(static_cast<size_t>(kBlockRows * depth_));
    gradients_.resize(scores_.size());
    each_block([&](int64_t head, int64_t first, int64_t last, const std::vector<Piece>& pieces) {
      make(q, head, keys_by_column_, pieces, first, scores_);
      make(g.out, head, values_by_column_, pieces, first, gradients_);
      each_row(first, last, [&](int64_t row, const ScoreRow& seen) {
        kernels().gradient(&scores_[offset(row, first)], &gradients_[offset(row, first)],
                           g.lse[row * spec_.heads + head], seen);
      });
      multiply(gradients_, k + of_head, pieces, first, head, g.q);
      collect(scores_, g.out, head, pieces, first, g.v + of_head);
      collect(gradients_, q, head, pieces, first, g.k + of_head);
    });
  }

 private:
  [[nodiscard]] size_t offset(int64_t row, int64_t first) const {
    return static_cast<size_t>((row - first) * depth_);
  }

  /// x [rows of the family, dim] of one key head -> [dim, keys_].
  void transpose(const float* x, AlignedFloats& out) {
    out.resize(static_cast<size_t>(shape_.dim * keys_));
    kernels().transpose(x + family_.begin * shape_.kv_row, shape_.kv_row,
                        family_.end - family_.begin, shape_.dim, out.data(), keys_);
  }

  /// f(query head, first row, last row, pieces) over the heads that share the keys.
  template <class F>
  void each_block(const F& f) {
    for (int64_t first = family_.begin; first < family_.end; first += kBlockRows) {
      const int64_t last = std::min(family_.end, first + kBlockRows);
      const std::vector<Piece> pieces = pieces_of(family_, first, last);
      for (int64_t j = 0; j < shape_.share; ++j) {
        f(kv_head_ * shape_.share + j, first, last, pieces);
      }
    }
  }

  /// f(row, what it sees).
  template <class F>
  void each_row(int64_t first, int64_t last, const F& f) const {
    const auto scale = static_cast<float>(spec_.scale);
    for (const Sequence& s : family_.sequences) {
      for (int64_t row = std::max(first, s.begin); row < std::min(last, s.end); ++row) {
        const int64_t end = s.depth + row - s.begin + 1;
        const int64_t begin = spec_.window > 0 ? std::max<int64_t>(0, end - spec_.window) : 0;
        f(row, ScoreRow{begin, end, depth_, scale});
      }
    }
  }

  /// block = x[rows] y^T of one head, y by column.
  void make(const float* x, int64_t head, const AlignedFloats& y, const std::vector<Piece>& pieces,
            int64_t first, AlignedFloats& block) const {
    for (const Piece& p : pieces) {
      kernels().product({p.last - p.first, whole_vectors(p.end - p.begin), shape_.dim,
                         x + p.first * shape_.q_row + head * shape_.dim, shape_.q_row, 1,
                         y.data() + p.begin - family_.begin, keys_,
                         block.data() + offset(p.first, first) + p.depth, depth_, false});
    }
  }

  /// out[rows] = block y of one head, y by row.
  void multiply(const AlignedFloats& block, const float* y, const std::vector<Piece>& pieces,
                int64_t first, int64_t head, float* out) const {
    for (const Piece& p : pieces) {
      kernels().product({p.last - p.first, shape_.dim, p.end - p.begin,
                         block.data() + offset(p.first, first) + p.depth, depth_, 1,
                         y + p.begin * shape_.kv_row, shape_.kv_row,
                         out + p.first * shape_.q_row + head * shape_.dim, shape_.q_row,
                         p.depth > 0});
    }
  }

  /// out[keys] += block^T x[rows] of one head.
  void collect(const AlignedFloats& block, const float* x, int64_t head,
               const std::vector<Piece>& pieces, int64_t first, float* out) const {
    for (const Piece& p : pieces) {
      kernels().product({p.end - p.begin, shape_.dim, p.last - p.first,
                         block.data() + offset(p.first, first) + p.depth, 1, depth_,
                         x + p.first * shape_.q_row + head * shape_.dim, shape_.q_row,
                         out + p.begin * shape_.kv_row, shape_.kv_row, true});
    }
  }

  const AttentionSpec& spec_;
  const Family& family_;
  Shape shape_;
  int64_t kv_head_;
  int64_t depth_;  ///< row stride of a block of scores
  int64_t keys_;   ///< row stride of keys and values by column
  AlignedFloats keys_by_column_;
  AlignedFloats values_by_column_;
  AlignedFloats scores_;
  AlignedFloats gradients_;
};

template <class F>
void each_head(const Tree& tree, const F& f) {
  const int64_t heads = tree.spec.kv_heads;
  const auto tasks = static_cast<int64_t>(tree.families.size()) * heads;
  parallel_rows(tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      HeadWork work(tree, tree.families[static_cast<size_t>(task / heads)], task % heads);
      f(work);
    }
  });
}

class TreeAttention : public torch::autograd::Function<TreeAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in,
                            const at::Tensor& v_in, const c10::intrusive_ptr<Tree>& tree) {
    const at::Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
    at::Tensor out = at::empty_like(q);
    at::Tensor lse = at::empty({q.size(0), q.size(1)}, q.options());
    const float *qp = floats(q), *kp = floats(k), *vp = floats(v);
    auto* op = out.mutable_data_ptr<float>();
    auto* lp = lse.mutable_data_ptr<float>();
    each_head(*tree, [&](HeadWork& work) { work.forward(qp, kp, vp, op, lp); });
    ctx->save_for_backward({q, k, v, lse});
    ctx->saved_data["tree"] = c10::IValue::make_capsule(tree);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto& capsule = ctx->saved_data["tree"].toCapsule();
    const auto& tree = static_cast<const Tree&>(*capsule);
    const at::Tensor dout = grads[0].contiguous();
    at::Tensor dq = at::empty_like(saved[0]);
    at::Tensor dk = at::zeros_like(saved[1]), dv = at::zeros_like(saved[2]);
    const float *qp = floats(saved[0]), *kp = floats(saved[1]), *vp = floats(saved[2]);
    const float *op = floats(dout), *lp = floats(saved[3]);
    auto *dqp = dq.mutable_data_ptr<float>(), *dkp = dk.mutable_data_ptr<float>(),
         *dvp = dv.mutable_data_ptr<float>();
    each_head(tree, [&](HeadWork& work) { work.backward(qp, kp, vp, {op, lp, dqp, dkp, dvp}); });
    return {dq, dk, dv, at::Tensor()};
  }
};

}  // namespace

bool tree_attention_takes(const AttentionSpec& spec, const at::Tensor& q,
                          const PackedBatch& batch) {
  if (!q.is_cpu() || q.scalar_type() != at::kFloat || q.numel() == 0) return false;
  if (spec.logit_softcap > 0 || spec.head_dim % kernels().width != 0) return false;
  std::vector<Family> families;
  return find_families(batch, families);
}

at::Tensor tree_attention(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                          const at::Tensor& v, const PackedBatch& batch) {
  auto tree = c10::make_intrusive<Tree>();
  tree->spec = spec;
  SLUICE_CHECK(find_families(batch, tree->families)) << "sequences are not behind their parents";
  return TreeAttention::apply(q, k, v, tree);
}

}  // namespace sluice
