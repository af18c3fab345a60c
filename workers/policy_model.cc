#include "workers/policy_model.h"

#include "models/nets/distributions.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

std::vector<float> to_vector(const at::Tensor& t) {
  const at::Tensor flat = t.contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

}  // namespace

void normalise_observations(const float* in, int64_t rows, const std::vector<float>& mean,
                            const std::vector<float>& scale, float* out) {
  const auto width = static_cast<int64_t>(mean.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<size_t>(i);
      out[r * width + i] =
          std::clamp((in[r * width + i] - mean[at]) * scale[at], -kObsClip, kObsClip);
    }
  }
}

PolicyModel::PolicyModel(const ActorCriticSpec& spec, RandomKey key)
    : key_(key.split("act")), net_(spec, RandomKey(0)), scratch_(net_) {}

Status PolicyModel::install(const Weights& weights) {
  if (weights.tag.digest != weights.digest()) {
    return error(Code::DataLoss, "weights {} do not match their digest", weights.tag.to_string());
  }
  std::vector<float> flat(static_cast<size_t>(net_.parameters().size()));
  for (const auto& entry : net_.parameters().entries()) {
    const at::Tensor tensor = weights.find(entry.name);
    if (!tensor.defined() || tensor.sizes() != at::IntArrayRef(entry.shape)) {
      return invalid_argument("weights {} have no tensor '{}' of {} elements",
                              weights.tag.to_string(), entry.name, entry.elements);
    }
    const at::Tensor dense = tensor.contiguous();
    std::memcpy(flat.data() + entry.offset, dense.data_ptr<float>(),
                static_cast<size_t>(entry.elements) * sizeof(float));
  }
  net_.load(flat.data());
  mean_.clear();
  scale_.clear();
  if (const at::Tensor mean = weights.find(kObsMean); mean.defined()) {
    mean_ = to_vector(mean);
    scale_ = to_vector(weights.find(kObsScale));
  }
  version_ = weights.tag;
  return {};
}

void PolicyModel::reserve(int64_t rows) {
  const auto n = static_cast<size_t>(rows);
  if (keys_.size() >= n) return;
  head_.resize(n * static_cast<size_t>(net_.spec().head.size));
  inputs_.resize(n * static_cast<size_t>(net_.spec().observation));
  keys_.resize(n, RandomKey(0));
  draws_.resize(n);
  values_.resize(n);
}

const float* PolicyModel::normalised(const float* observations, int64_t rows) {
  if (mean_.empty()) return observations;
  normalise_observations(observations, rows, mean_, scale_, inputs_.data());
  return inputs_.data();
}

ActionRows PolicyModel::rows_of(void* actions, int64_t offset) const {
  if (net_.spec().head.discrete()) return {static_cast<int64_t*>(actions) + offset, nullptr};
  return {nullptr, static_cast<float*>(actions) + offset * net_.spec().head.size};
}

/// The observations of all questions, one after the other, ready for the network; those of a single
/// question stay where they are when nothing is to be done to them.
const float* PolicyModel::gather(std::span<const Question> questions, int64_t rows) {
  if (questions.size() == 1) return normalised(questions[0].in->rows.data<float>(0), rows);
  float* to = inputs_.data();
  for (const Question& q : questions) {
    const auto* from = q.in->rows.data<float>(0);
    const int64_t size = q.in->count * net_.spec().observation;
    if (mean_.empty()) {
      std::copy_n(from, size, to);
    } else {
      normalise_observations(from, q.in->count, mean_, scale_, to);
    }
    to += size;
  }
  return inputs_.data();
}

Status PolicyModel::answer(std::span<const Question> questions) {
  int64_t rows = 0;
  for (const Question& q : questions) {
    if (q.in->count > q.out->rows.rows()) {
      return invalid_argument("{} observations do not fit an answer of {} rows", q.in->count,
                              q.out->rows.rows());
    }
    rows += q.in->count;
  }
  reserve(rows);
  size_t at = 0;
  for (const Question& q : questions) {
    const auto columns = static_cast<int64_t>(q.in->rows.schema().size());
    const auto* slots = q.in->rows.data<int64_t>(columns - 3);
    const auto* draws = q.in->rows.data<int64_t>(columns - 2);
    for (int64_t r = 0; r < q.in->count; ++r, ++at) {
      keys_[at] = key_.split(static_cast<uint64_t>(slots[r]));
      draws_[at] = static_cast<uint64_t>(draws[r]);
    }
  }
  const bool one = questions.size() == 1;
  float* values = one ? questions[0].out->rows.data<float>(2) : values_.data();
  net_.forward(gather(questions, rows), rows, scratch_, head_.data(), values);
  ++passes_;
  int64_t first = 0;
  for (const Question& q : questions) {
    const auto offset = static_cast<size_t>(first);
    sample_actions(net_.spec().head, head_.data() + first * net_.spec().head.size, net_.log_std(),
                   q.in->count, keys_.data() + offset, draws_.data() + offset,
                   rows_of(q.out->rows.data<char>(0), 0), q.out->rows.data<float>(1));
    if (!one) std::copy_n(values + offset, q.in->count, q.out->rows.data<float>(2));
    q.out->count = q.in->count;
    q.out->version = version_;
    first += q.in->count;
  }
  return {};
}

Status PolicyModel::answer(const Observation& in, Action& out) {
  const Question question{&in, &out};
  return answer({&question, 1});
}

void PolicyModel::act_greedily(const float* observations, int64_t rows, void* actions) {
  reserve(rows);
  net_.forward(normalised(observations, rows), rows, scratch_, head_.data(), nullptr);
  mode_actions(net_.spec().head, head_.data(), rows, rows_of(actions, 0));
}

}  // namespace sluice
