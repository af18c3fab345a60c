#include "inference/speculation/neural/heads_drafter.h"

#include "models/io/safetensors.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace sluice {
namespace {

/// The tensor of that name in fp32; undefined when there is none.
Result<at::Tensor> read_head(const SafetensorsFile& file, const std::string& name,
                             const std::vector<int64_t>& shape) {
  for (const SafetensorsEntry& entry : file.header().entries) {
    if (entry.name != name) continue;
    if (entry.shape != shape) {
      return invalid_argument("'{}' is [{}], the model wants [{}]", name,
                              fmt::join(entry.shape, ", "), fmt::join(shape, ", "));
    }
    return file.read(entry, at::kFloat);
  }
  return at::Tensor();
}

}  // namespace

Result<std::shared_ptr<HeadsDrafter>> HeadsDrafter::load(const std::string& path,
                                                         const Transformer& target,
                                                         int64_t vocabulary) {
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::open(path));
  const int64_t hidden = target.config().hidden_size;
  const int64_t rows = target.config().vocab_size;
  auto drafter = std::make_shared<HeadsDrafter>();
  drafter->vocabulary_ = vocabulary;
  size_t used = 0;
  for (;;) {
    const size_t i = drafter->heads_.size();
    Head head;
    const auto read = [&](at::Tensor& into, const std::string& name,
                          const std::vector<int64_t>& shape) -> Status {
      auto tensor = read_head(file, fmt::format("{}.{}", i, name), shape);
      if (!tensor.ok()) return tensor.status().with_context(path);
      into = *std::move(tensor);
      used += into.defined() ? 1 : 0;
      return {};
    };
    RETURN_IF_ERROR(read(head.weight, "0.linear.weight", {hidden, hidden}));
    if (!head.weight.defined()) break;
    RETURN_IF_ERROR(read(head.bias, "0.linear.bias", {hidden}));
    if (!head.bias.defined()) return invalid_argument("{}: no '{}.0.linear.bias'", path, i);
    RETURN_IF_ERROR(read(head.output, "1.weight", {rows, hidden}));
    if (!head.output.defined()) head.output = target.head().weight.to(at::kFloat);
    drafter->heads_.push_back(std::move(head));
  }
  if (drafter->heads_.empty()) return invalid_argument("{}: no '0.0.linear.weight'", path);
  if (used != file.header().entries.size()) {
    return invalid_argument("{}: {} tensors, but its {} heads have {}", path,
                            file.header().entries.size(), drafter->heads_.size(), used);
  }
  return drafter;
}

void HeadsDrafter::draft(std::span<DraftQuery> queries) {
  const at::NoGradGuard no_grad;
  std::vector<DraftQuery*> wanted;
  std::vector<float> states;
  int64_t most = 0;
  for (DraftQuery& query : queries) {
    const auto found = hidden_.find(query.sequence);
    if (found == hidden_.end() || query.most < 1) continue;
    wanted.push_back(&query);
    states.insert(states.end(), found->second.begin(), found->second.end());
    most = std::max(most, query.most);
  }
  if (wanted.empty()) return;
  const int64_t count = std::ssize(wanted);
  const at::Tensor h =
      at::from_blob(states.data(), {count, std::ssize(states) / count}, at::kFloat);
  for (size_t i = 0; i < heads_.size() && static_cast<int64_t>(i) < most; ++i) {
    const Head& head = heads_[i];
    const at::Tensor mixed = h + at::silu(at::linear(h, head.weight, head.bias));
    const at::Tensor best =
        at::linear(mixed, head.output.slice(0, 0, vocabulary_)).argmax(1).contiguous();
    const auto* tokens = static_cast<const int64_t*>(best.const_data_ptr());
    for (int64_t q = 0; q < count; ++q) {
      DraftQuery& query = *wanted[static_cast<size_t>(q)];
      if (std::ssize(query.out) < query.most) query.out.push_back(tokens[q]);
    }
  }
}

void HeadsDrafter::observe(const DraftOutcome& outcome) {
  hidden_[outcome.sequence].assign(outcome.hidden.begin(), outcome.hidden.end());
}

void HeadsDrafter::finished(int64_t sequence, std::span<const int64_t> /*tokens*/,
                            int64_t /*prompt*/) {
  hidden_.erase(sequence);
}

}  // namespace sluice
