#pragma once
#include "dataflow/base/result.h"
#include "inference/kernels/linear_kernels.h"
#include "models/transformer/config.h"
#include "models/transformer/ops.h"
#include "models/transformer/parameters.h"

#include <atomic>
#include <memory>

namespace sluice {

/// Multiplies by weights that were packed once: what the engine gives its model. Layers are found
/// by name, so the model's own weight tensors are not read. Each row of a result is independent of
/// the other rows, bit for bit, and with WeightFormat::Fp32 equal to ExactLinearOp's. Int8 rounds
/// inputs to 16 bits, Bf16 to bf16 where the CPU multiplies bf16 (linear_product()). No gradients.
///
///   ASSIGN_OR_RETURN(auto linear, PackedLinearOp::create(config, parameters, WeightFormat::Bf16));
///   model.use(linear);
///   RETURN_IF_ERROR(linear->stage(newer));  // beside running forwards, from any one thread
///   linear->flip();                         // between two forwards
class PackedLinearOp : public LinearOp {
 public:
  /// Packs every linear layer of the model, head included. InvalidArgument when a tensor is missing
  /// or of another shape.
  static Result<std::shared_ptr<PackedLinearOp>> create(const TransformerConfig& config,
                                                        const Parameters& parameters,
                                                        WeightFormat format);
  ~PackedLinearOp() override;

  [[nodiscard]] at::Tensor apply(const Linear& layer, const at::Tensor& x) const override;
  [[nodiscard]] at::Tensor apply_group(std::span<const Linear> layers,
                                       const at::Tensor& x) const override;

  /// Packs other weights of the same model into the second buffer (allocated at the first call).
  /// One caller at a time; may run while others apply(). After a failure the weights in use, and
  /// those staged before, if any, are as if it had not been called, except that nothing is staged.
  Status stage(const Parameters& parameters);
  [[nodiscard]] bool staged() const noexcept { return staged_; }
  /// The staged weights and those in use change places; not while a forward or stage() runs. False,
  /// and nothing changes, when nothing is staged.
  bool flip() noexcept;
  /// Gives back the second buffer's memory.
  void drop_second() noexcept;

  [[nodiscard]] WeightFormat format() const noexcept { return format_; }
  /// Bytes that one token through all layers reads.
  [[nodiscard]] int64_t bytes() const noexcept;

 private:
  struct Weights;
  PackedLinearOp(TransformerConfig config, WeightFormat format);

  TransformerConfig config_;
  WeightFormat format_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<Weights> second_;
  std::atomic<bool> staged_ = false;  ///< asked for by another thread than the stager
};

}  // namespace sluice
