#include "inference/kernels/packed_matrix.h"

#include "dataflow/base/result.h"
#include "inference/kernels/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sluice {
namespace {

constexpr int64_t kWidth = LinearPanel::kWidth;
constexpr size_t kHugePage = size_t{2} << 20;

/// Zeroed memory. Large blocks ask for huge pages: a product streams through them.
std::byte* allocate(size_t bytes) {
  const size_t unit = bytes >= kHugePage ? kHugePage : 64;
  const size_t rounded = (bytes + unit - 1) / unit * unit;
  void* p = std::aligned_alloc(unit, std::max(rounded, unit));
  SLUICE_CHECK(p != nullptr) << "no memory for " << bytes << " bytes of weights";
#if defined(__linux__)
  if (unit == kHugePage) static_cast<void>(madvise(p, rounded, MADV_HUGEPAGE));
#endif
  std::memset(p, 0, std::max(rounded, unit));
  return static_cast<std::byte*>(p);
}

int64_t element_size(WeightFormat format) {
  if (format == WeightFormat::Fp32) return 4;
  return format == WeightFormat::Bf16 ? 2 : 1;
}

/// Inputs that lie together for each output.
int64_t inputs_per_step(WeightFormat format) { return format == WeightFormat::Fp32 ? 1 : 2; }

}  // namespace

std::string_view name(WeightFormat format) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"fp32", "bf16", "int8", "rows"};
  return kNames.at(static_cast<size_t>(format));
}

std::vector<LinearPanel> panels_of(int64_t outputs) {
  std::vector<LinearPanel> panels;
  for (int64_t at = 0; at < outputs; at += kWidth) {
    panels.push_back(
        {static_cast<int32_t>(at), static_cast<int32_t>(std::min(kWidth, outputs - at))});
  }
  return panels;
}

void PackedMatrix::Free::operator()(std::byte* p) const noexcept { std::free(p); }

PackedMatrix::PackedMatrix(WeightFormat format, const std::vector<int64_t>& outputs, int64_t in,
                           int64_t group)
    : format_(format), in_(in), group_(group), first_{0}, column_{0} {
  SLUICE_CHECK(format != WeightFormat::Rows && in > 0 && group > 0 && group % 4 == 0 &&
               group <= LinearWeights::kMaxGroup)
      << name(format) << ", " << in << " inputs, groups of " << group;
  for (const int64_t count : outputs) {
    for (LinearPanel panel : panels_of(count)) {
      own_panels_.push_back(panel);
      panel.column += static_cast<int32_t>(column_.back());
      panels_.push_back(panel);
    }
    first_.push_back(static_cast<int64_t>(panels_.size()));
    column_.push_back(column_.back() + count);
  }
  const int64_t step = inputs_per_step(format);
  panel_stride_ = (in + step - 1) / step * step * kWidth;
  data_.reset(allocate(panels_.size() * static_cast<size_t>(panel_stride_ * element_size(format))));
  if (format == WeightFormat::Int8) {
    factors_.resize(panels_.size() * static_cast<size_t>(view().groups() * kWidth));
  }
}

LinearWeights PackedMatrix::view() const noexcept {
  return {format_, in_, group_, panel_stride_, data_.get(), factors_.data(), panels_.data()};
}

LinearWeights PackedMatrix::view(int64_t layer) const noexcept {
  const int64_t first = first_panel(layer);
  LinearWeights w = view();
  w.data = data_.get() + first * panel_stride_ * element_size(format_);
  if (format_ == WeightFormat::Int8) w.factors += first * w.groups() * kWidth;
  w.panels = own_panels_.data() + first;
  return w;
}

int64_t PackedMatrix::bytes() const noexcept {
  return static_cast<int64_t>(panels_.size()) * panel_stride_ * element_size(format_) +
         static_cast<int64_t>(factors_.size() * sizeof(float));
}

void PackedMatrix::pack_int8(const float* rows, int64_t count, int64_t panel) {
  auto* out = reinterpret_cast<int8_t*>(data_.get()) + panel * panel_stride_;
  const int64_t groups = view().groups();
  float* factors = factors_.data() + panel * groups * kWidth;
  for (int64_t j = 0; j < count; ++j) {
    const float* row = rows + j * in_;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t end = std::min(in_, (g + 1) * group_);
      float largest = 0;
      bool finite = true;
      for (int64_t k = g * group_; k < end; ++k) {
        finite = finite && std::isfinite(row[k]);
        largest = std::max(largest, std::fabs(row[k]));
      }
      if (!finite) {  // as in the other formats, the output is not a number
        factors[g * kWidth + j] = std::numeric_limits<float>::quiet_NaN();
        continue;
      }
      const float factor = largest / 127;
      const float inverse = factor > 0 ? 1 / factor : 0;
      factors[g * kWidth + j] = factor;
      for (int64_t k = g * group_; k < end; ++k) {
        const float q = std::nearbyint(std::min(127.0F, std::max(-127.0F, row[k] * inverse)));
        out[(k / 2 * kWidth + j) * 2 + k % 2] = static_cast<int8_t>(q);
      }
    }
  }
}

void PackedMatrix::pack(int64_t layer, const float* weight, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t panel = first_panel(layer) + i;
    const int64_t count = panels_[static_cast<size_t>(panel)].count;
    const float* rows = weight + i * kWidth * in_;
    if (format_ == WeightFormat::Int8) {
      pack_int8(rows, count, panel);
    } else if (format_ == WeightFormat::Bf16) {
      auto* out = reinterpret_cast<uint16_t*>(data_.get()) + panel * panel_stride_;
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t k = 0; k < in_; ++k) {
          out[(k / 2 * kWidth + j) * 2 + k % 2] = bf16_of(rows[j * in_ + k]);
        }
      }
    } else {
      auto* out = reinterpret_cast<float*>(data_.get()) + panel * panel_stride_;
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t k = 0; k < in_; ++k) out[k * kWidth + j] = rows[j * in_ + k];
      }
    }
  }
}

}  // namespace sluice
