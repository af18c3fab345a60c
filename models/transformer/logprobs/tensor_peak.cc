#include "models/transformer/logprobs/tensor_peak.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>

namespace sluice {
namespace {
class Reporter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*place*/, int64_t size, size_t /*total_allocated*/,
                         size_t /*total_reserved*/, c10::Device /*device*/) override {
    held_ += size;
    peak_ = std::max(peak_, held_);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
  [[nodiscard]] int64_t peak() const noexcept { return peak_; }

 private:
  int64_t held_ = 0;
  int64_t peak_ = 0;
};
}  // namespace

struct TensorPeak::Impl {
  std::shared_ptr<Reporter> reporter = std::make_shared<Reporter>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, reporter};
};

TensorPeak::TensorPeak() : impl_(std::make_unique<Impl>()) {}
TensorPeak::~TensorPeak() = default;
int64_t TensorPeak::bytes() const noexcept { return impl_->reporter->peak(); }

}  // namespace sluice
