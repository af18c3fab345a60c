#pragma once
#include "dataflow/base/result.h"
#include "models/transformer/ops.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>

namespace sluice {

/// Work on a device that is recorded once and then runs again for the price of one launch.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Records `work`, which may run meanwhile. It must use the same tensors whenever it runs, and
  /// may neither wait for the device nor read host memory. After a failure the graph is of no use.
  virtual Status capture(std::function<void()> work) = 0;
  /// Runs the work on what its tensors hold now.
  virtual Status replay() = 0;
};

/// Keys and values of one layer, [blocks, kv_heads, block_size, head_dim], and whose they are.
struct PagedRows {
  const at::Tensor& keys;
  const at::Tensor& values;
  at::Tensor tables;   ///< int32 [rows, width]: the blocks of each row's sequence
  at::Tensor lengths;  ///< int32 [rows]: keys that the row sees, its own included; at least 1
};

/// What an engine needs of a device beyond LibTorch's operations. Work goes to the current stream
/// of the calling thread. What fails throws, as LibTorch does.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  [[nodiscard]] virtual at::Device device() const = 0;
  /// The stream for one engine's work; none on the CPU.
  [[nodiscard]] virtual std::optional<c10::Stream> stream() const = 0;

  /// Writes k and v [tokens, kv_heads, head_dim] to the places `slots` (int32 [tokens]) of a
  /// layer: slot s is place s % block_size of block s / block_size.
  virtual void store(const at::Tensor& k, const at::Tensor& v, const at::Tensor& slots,
                     const at::Tensor& keys, const at::Tensor& values) const = 0;
  /// Attention of one query token a row, q [rows, heads, head_dim] -> the same shape.
  [[nodiscard]] virtual at::Tensor attend(const AttentionSpec& spec, const at::Tensor& q,
                                          const PagedRows& rows) const = 0;
  [[nodiscard]] virtual std::unique_ptr<DeviceGraph> make_graph() const = 0;
};

}  // namespace sluice
