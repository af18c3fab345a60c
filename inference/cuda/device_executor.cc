#include "inference/cuda/device_executor.h"

#include "dataflow/base/log.h"
#include "inference/cuda/device_attention_op.h"
#include "models/transformer/linear_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <exception>
#include <string>

namespace sluice {
namespace {

/// Whether the model's forward runs without asking the host for anything.
bool recordable(const TransformerConfig& config) {
  return std::ranges::none_of(config.layers, [](const LayerConfig& layer) {
    return layer.experts || layer.mixer != MixerKind::Attention;
  });
}

/// Whether a model multiplies by its own weights and not by copies of them.
bool reads_own_weights(const Transformer& model) {
  return dynamic_cast<const PlainLinearOp*>(&model.linear()) != nullptr;
}

std::string first_line(const std::exception& e) {
  const std::string text = e.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace

DeviceExecutor::DeviceExecutor(std::shared_ptr<const DeviceBackend> backend, DeviceOptions options)
    : backend_(std::move(backend)), options_(options) {}

DeviceExecutor::~DeviceExecutor() = default;

std::shared_ptr<const AttentionOp> DeviceExecutor::attention() const {
  return std::make_shared<DeviceAttentionOp>();
}

std::unique_ptr<PagedKvCache> DeviceExecutor::make_cache(const TransformerConfig& config,
                                                         int32_t blocks, int32_t block_size,
                                                         KvFormat format) {
  return std::make_unique<DeviceKvCache>(config, blocks, block_size, format, backend_);
}

Result<Parameters> DeviceExecutor::place(const TransformerConfig& config,
                                         const Parameters& weights) const {
  const at::NoGradGuard no_grad;
  const at::Device device = backend_->device();
  try {
    Parameters placed = Parameters::allocate(
        parameter_specs(config), weights.entries().front().tensor.scalar_type(), device);
    for (const auto& entry : placed.entries()) entry.tensor.copy_(weights.at(entry.name));
    // This thread's stream, which is not the engine's: they must be whole when they are handed
    // over.
    if (!device.is_cpu())
      c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
    return placed;
  } catch (const std::exception& e) {
    return error(Code::ResourceExhausted, "the weights do not go to {}: {}", device.str(),
                 first_line(e));
  }
}

void DeviceExecutor::install(std::unique_ptr<Transformer>& serving,
                             std::unique_ptr<Transformer> next) {
  const at::NoGradGuard no_grad;
  const c10::OptionalStreamGuard guard(backend_->stream());
  if (serving != nullptr && reads_own_weights(*serving) && reads_own_weights(*next)) {
    try {
      for (const auto& entry : serving->parameters().entries()) {
        entry.tensor.copy_(next->parameters().at(entry.name));
      }
      wait();  // `next` goes back to memory that others may take
      return;
    } catch (const std::exception& e) {
      log(LogLevel::Warning, "weights were not copied in place: {}", first_line(e));
    }
  }
  records_.clear();
  serving = std::move(next);
}

StepInputs DeviceExecutor::inputs_of(const StepShape& shape) const {
  return StepInputs::over(
      at::empty({shape.size()}, at::TensorOptions(at::kInt).device(backend_->device())), shape);
}

void DeviceExecutor::upload(const PackedBatch& batch, const DeviceKvCache& cache,
                            const StepShape& shape, const StepInputs& to) {
  if (!host_inputs_.defined() || host_inputs_.numel() < shape.size()) {
    host_inputs_ =
        at::empty({2 * shape.size()},
                  at::TensorOptions(at::kInt).pinned_memory(!backend_->device().is_cpu()));
  }
  write_inputs(batch, cache.rows(), shape, cache.block_size(), cache.spare(),
               host_inputs_.mutable_data_ptr<int32_t>());
  to.all.copy_(host_inputs_.narrow(0, 0, shape.size()), true);
}

at::Tensor DeviceExecutor::logits(const Transformer& model, const PackedBatch& batch,
                                  PagedKvCache& cache, const std::vector<int64_t>& wanted) {
  const c10::OptionalStreamGuard guard(backend_->stream());
  auto& own = static_cast<DeviceKvCache&>(cache);
  if (const Recorded* recorded = record(model, batch, own, wanted); recorded != nullptr) {
    const Status status = recorded->graph->replay();
    SLUICE_CHECK(status.ok()) << status.message();
    ++stats_.replays;
    return to_host(recorded->logits.narrow(0, 0, std::ssize(wanted)));
  }
  ++stats_.plain;
  const StepShape shape = step_shape(batch, own.rows());
  const StepInputs inputs = inputs_of(shape);
  upload(batch, own, shape, inputs);
  own.use(inputs);
  at::Tensor hidden = model.forward({inputs.tokens, inputs.positions, batch.cu_seqlens}, &own);
  if (wanted.empty()) {
    wait();  // the next step writes to the memory that this one's inputs come from
    return {};
  }
  if (std::ssize(wanted) < hidden.size(0)) {
    hidden = hidden.index_select(0, at::tensor(wanted, at::kLong).to(hidden.device()));
  }
  return to_host(model.logits(hidden).to(at::kFloat));
}

DeviceExecutor::Recorded* DeviceExecutor::record(const Transformer& model, const PackedBatch& batch,
                                                 DeviceKvCache& cache,
                                                 const std::vector<int64_t>& wanted) {
  const int64_t rows = batch.sequences();
  const bool decodes = batch.total_tokens() == rows && std::ssize(wanted) == rows;
  if (!options_.graphs || !decodes || !recordable(model.config())) return nullptr;
  const auto bucket =
      graph_bucket(rows, step_shape(batch, cache.rows()).width, options_.max_graph_rows);
  if (!bucket) return nullptr;
  const StepShape shape{bucket->rows, bucket->rows, bucket->width};
  auto& place = records_[*bucket];
  if (place != nullptr) {
    upload(batch, cache, shape, place->inputs);
    return place.get();
  }
  auto fresh = std::make_unique<Recorded>();
  fresh->inputs = inputs_of(shape);
  upload(batch, cache, shape, fresh->inputs);
  place = capture(model, cache, std::move(fresh));
  if (place != nullptr) return place.get();
  options_.graphs = false;
  records_.clear();
  return nullptr;
}

std::unique_ptr<DeviceExecutor::Recorded> DeviceExecutor::capture(const Transformer& model,
                                                                  DeviceKvCache& cache,
                                                                  std::unique_ptr<Recorded> fresh) {
  Recorded* own = fresh.get();
  PackedBatch batch{own->inputs.tokens, own->inputs.positions, {}};
  for (int64_t i = 0; i <= own->inputs.tokens.size(0); ++i) batch.cu_seqlens.push_back(i);
  own->graph = backend_->make_graph();
  // Lives as long as the model and the cache: install() drops the records of a model that goes.
  const Status status = own->graph->capture([own, batch, &model, &cache] {
    cache.use(own->inputs);
    own->logits = model.logits(model.forward(batch, &cache)).to(at::kFloat);
  });
  ++stats_.captures;
  if (status.ok()) return fresh;
  log(LogLevel::Warning, "decode steps are not recorded: {}", status.message());
  return nullptr;
}

at::Tensor DeviceExecutor::to_host(const at::Tensor& logits) {
  if (logits.is_cpu()) return logits.contiguous();
  if (!host_logits_.defined() || host_logits_.size(0) < logits.size(0)) {
    host_logits_ = at::empty(logits.sizes(), at::TensorOptions(at::kFloat).pinned_memory(true));
  }
  at::Tensor out = host_logits_.narrow(0, 0, logits.size(0));
  out.copy_(logits, true);
  wait();
  return out;
}

void DeviceExecutor::wait() const {
  if (const auto stream = backend_->stream()) stream->synchronize();
}

}  // namespace sluice
