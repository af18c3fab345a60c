// Part of the shared library sluice_inference_cuda, which is the only one of ours that links
// LibTorch's CUDA half.
#include "inference/cuda/cuda_backend.h"

#include "inference/cuda/paged_attention.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <exception>
#include <string>

namespace sluice {
namespace {

void check_launch(int code, const char* what) {
  SLUICE_CHECK(code == cudaSuccess) << what << ": " << cuda::error_text(code);
}

cuda::Element element_of(const at::Tensor& x) {
  if (x.scalar_type() == at::kFloat) return cuda::Element::Fp32;
  if (x.scalar_type() == at::kHalf) return cuda::Element::Fp16;
  SLUICE_CHECK(x.scalar_type() == at::kBFloat16)
      << "keys and values of " << c10::toString(x.scalar_type());
  return cuda::Element::Bf16;
}

cuda::PagedLayer layer_of(const at::Tensor& keys, const at::Tensor& values) {
  SLUICE_CHECK(keys.is_contiguous() && values.is_contiguous() && keys.sizes() == values.sizes());
  const int64_t dim = keys.size(3);
  SLUICE_CHECK(dim % cuda::kVector == 0 && dim <= cuda::kMaxHeadDim)
      << "heads of " << dim << ": the kernels take multiples of " << cuda::kVector << " up to "
      << cuda::kMaxHeadDim;
  return {keys.data_ptr(), values.data_ptr(), static_cast<int>(keys.size(1)),
          static_cast<int>(keys.size(2)), static_cast<int>(dim)};
}

const int* ints(const at::Tensor& x) {
  SLUICE_CHECK(x.is_contiguous() && x.scalar_type() == at::kInt && x.is_cuda());
  return static_cast<const int*>(x.const_data_ptr());
}

/// One token's heads end to end and whole vectors from token to token, as projections leave them;
/// copied otherwise.
at::Tensor by_token(const at::Tensor& x, at::ScalarType type) {
  const at::Tensor typed = x.to(type);
  const bool dense = typed.stride(2) == 1 && typed.stride(1) == typed.size(2);
  const bool whole = typed.stride(0) % cuda::kVector == 0 &&
                     reinterpret_cast<uintptr_t>(typed.const_data_ptr()) % 16 == 0;
  return dense && whole ? typed : typed.contiguous();
}

/// LibTorch's graph: temporary memory comes from a pool that all graphs of an engine share, which
/// is right because one runs at a time and its results are read before the next.
class CudaGraph : public DeviceGraph {
 public:
  explicit CudaGraph(at::cuda::MempoolId_t pool) : pool_(pool) {}

  Status capture(std::function<void()> work) override {
    bool recording = false;
    try {
      work();  // what is made at a first run (handles, workspaces, modules) is not recorded
      // Only this thread may not wait meanwhile; another may copy newer weights.
      graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
      recording = true;
      work();
      recording = false;
      graph_.capture_end();
      return {};
    } catch (const std::exception& e) {
      const std::string why = e.what();
      if (recording) end_recording();
      return error(Code::Internal, "recording failed: {}", why.substr(0, why.find('\n')));
    }
  }

  Status replay() override {
    try {
      graph_.replay();
      return {};
    } catch (const std::exception& e) {
      return error(Code::Internal, "a recorded step failed: {}", e.what());
    }
  }

 private:
  /// The stream must not stay in recording.
  void end_recording() {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      static_cast<void>(cudaGetLastError());  // of the recording, which has been reported
    }
  }

  at::cuda::MempoolId_t pool_;
  at::cuda::CUDAGraph graph_;
};

class CudaBackend : public DeviceBackend {
 public:
  explicit CudaBackend(int index)
      : device_(at::kCUDA, static_cast<at::DeviceIndex>(index)),
        stream_(c10::cuda::getStreamFromPool(false, device_.index())),
        pool_(at::cuda::graph_pool_handle()) {}

  [[nodiscard]] at::Device device() const override { return device_; }
  [[nodiscard]] std::optional<c10::Stream> stream() const override { return stream_.unwrap(); }

  void store(const at::Tensor& k, const at::Tensor& v, const at::Tensor& slots,
             const at::Tensor& keys, const at::Tensor& values) const override {
    const at::Tensor own_k = by_token(k, keys.scalar_type());
    const at::Tensor own_v = by_token(v, keys.scalar_type());
    cuda::PagedStore s;
    s.layer = layer_of(keys, values);
    s.k = own_k.const_data_ptr();
    s.v = own_v.const_data_ptr();
    s.k_stride = own_k.stride(0);
    s.v_stride = own_v.stride(0);
    s.slots = ints(slots);
    s.tokens = static_cast<int>(slots.size(0));
    check_launch(cuda::launch_store(s, element_of(keys), current()), "storing keys and values");
  }

  [[nodiscard]] at::Tensor attend(const AttentionSpec& spec, const at::Tensor& q,
                                  const PagedRows& rows) const override {
    const at::Tensor queries = q.to(rows.keys.scalar_type()).contiguous();
    at::Tensor out = at::empty_like(queries);
    cuda::PagedAttention a;
    a.layer = layer_of(rows.keys, rows.values);
    a.q = queries.const_data_ptr();
    a.out = out.mutable_data_ptr();
    a.tables = ints(rows.tables);
    a.lengths = ints(rows.lengths);
    a.rows = static_cast<int>(q.size(0));
    a.heads = static_cast<int>(spec.heads);
    a.width = static_cast<int>(rows.tables.size(1));
    a.splits = (a.width * a.layer.block_size + cuda::kSplit - 1) / cuda::kSplit;
    a.window = static_cast<int>(spec.window);
    a.scale = static_cast<float>(spec.scale);
    a.softcap = static_cast<float>(spec.logit_softcap);
    const at::TensorOptions scratch = queries.options().dtype(at::kFloat);
    const at::Tensor partials = at::empty({a.rows, a.heads, a.splits, a.layer.head_dim}, scratch);
    const at::Tensor sums = at::empty({a.rows, a.heads, a.splits, 2}, scratch);
    a.partials = partials.data_ptr<float>();
    a.sums = sums.data_ptr<float>();
    check_launch(cuda::launch_attention(a, element_of(rows.keys), current()), "paged attention");
    return out.to(q.scalar_type());
  }

  [[nodiscard]] std::unique_ptr<DeviceGraph> make_graph() const override {
    return std::make_unique<CudaGraph>(pool_);
  }

 private:
  [[nodiscard]] cudaStream_t current() const {
    return c10::cuda::getCurrentCUDAStream(device_.index()).stream();
  }

  at::Device device_;
  c10::cuda::CUDAStream stream_;
  at::cuda::MempoolId_t pool_;
};

Result<std::unique_ptr<DeviceBackend>> make_backend(int index) {
  int count = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&count); e != cudaSuccess) {
    return error(Code::Unavailable, "no usable GPU: {}", cudaGetErrorString(e));
  }
  if (index < 0 || index >= count) {
    return error(Code::Unavailable, "no GPU {}: this machine has {}", index, count);
  }
  try {
    at::globalContext().lazyInitDevice(at::kCUDA);
    auto backend = std::make_unique<CudaBackend>(index);
    const c10::OptionalStreamGuard guard(backend->stream());
    if (const int code = cuda::kernels_run(); code != cudaSuccess) {
      return error(Code::Unavailable, "the kernels were not compiled for GPU {}: {}", index,
                   cuda::error_text(code));
    }
    return std::unique_ptr<DeviceBackend>(std::move(backend));
  } catch (const std::exception& e) {
    const std::string why = e.what();
    return error(Code::Unavailable, "GPU {}: {}", index, why.substr(0, why.find('\n')));
  }
}

}  // namespace
}  // namespace sluice

extern "C" void sluice_cuda_backend_v1(int index, std::unique_ptr<sluice::DeviceBackend>* out,
                                       char* why, size_t size) {
  auto made = sluice::make_backend(index);
  if (made.ok()) {
    *out = *std::move(made);
  } else {
    std::snprintf(why, size, "%s", made.status().message().c_str());
  }
}
