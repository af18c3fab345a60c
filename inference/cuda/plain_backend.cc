#include "inference/cuda/plain_backend.h"

#include <ATen/ATen.h>

#include <limits>
#include <utility>

namespace sluice {
namespace {

class PlainGraph : public DeviceGraph {
 public:
  Status capture(std::function<void()> work) override {
    work_ = std::move(work);
    return {};
  }
  Status replay() override {
    work_();
    return {};
  }

 private:
  std::function<void()> work_;
};

}  // namespace

void PlainBackend::store(const at::Tensor& k, const at::Tensor& v, const at::Tensor& slots,
                         const at::Tensor& keys, const at::Tensor& values) const {
  const at::Tensor wide = slots.to(at::kLong);
  const at::Tensor block = at::floor_divide(wide, keys.size(2));
  const at::Tensor place = at::remainder(wide, keys.size(2));
  // [blocks, block_size, kv_heads, head_dim]: indexed by its first two dimensions.
  keys.transpose(1, 2).index_put_({block, place}, k.to(keys.scalar_type()));
  values.transpose(1, 2).index_put_({block, place}, v.to(values.scalar_type()));
}

at::Tensor PlainBackend::attend(const AttentionSpec& spec, const at::Tensor& q,
                                const PagedRows& rows) const {
  const int64_t count = q.size(0);
  const int64_t places = rows.tables.size(1) * rows.keys.size(2);
  const auto gathered = [&](const at::Tensor& cache) {
    return cache.index_select(0, rows.tables.flatten())
        .view({count, rows.tables.size(1), spec.kv_heads, cache.size(2), spec.head_dim})
        .transpose(1, 2)
        .reshape({count, spec.kv_heads, places, spec.head_dim})
        .to(at::kFloat);
  };
  const at::Tensor place = at::arange(places, rows.lengths.options()).unsqueeze(0);
  const at::Tensor lengths = rows.lengths.unsqueeze(1);
  at::Tensor unseen = place >= lengths;
  if (spec.window > 0) unseen = unseen.logical_or(place < lengths - spec.window);
  const at::Tensor queries =
      q.to(at::kFloat).reshape({count, spec.kv_heads, spec.heads / spec.kv_heads, spec.head_dim});
  at::Tensor scores = at::matmul(queries, gathered(rows.keys).transpose(-1, -2)) * spec.scale;
  if (spec.logit_softcap > 0) {
    scores = at::tanh(scores / spec.logit_softcap) * spec.logit_softcap;
  }
  scores = scores.masked_fill(unseen.view({count, 1, 1, places}),
                              -std::numeric_limits<float>::infinity());
  // Places that were never written may hold anything, and 0 * NaN is NaN.
  const at::Tensor values =
      gathered(rows.values).masked_fill(unseen.view({count, 1, places, 1}), 0);
  return at::matmul(at::softmax(scores, -1), values).view(q.sizes()).to(q.scalar_type());
}

std::unique_ptr<DeviceGraph> PlainBackend::make_graph() const {
  return std::make_unique<PlainGraph>();
}

}  // namespace sluice
