#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

/// A set of Unicode scalar values, as sorted ranges that do not touch. Surrogates are never in it.
class CodePoints {
 public:
  using Range = std::pair<uint32_t, uint32_t>;  ///< both ends belong to it
  static constexpr uint32_t kLast = 0x10FFFF;

  CodePoints() = default;
  CodePoints(std::initializer_list<Range> ranges) {
    for (const auto& [first, last] : ranges) add(first, last);
  }
  [[nodiscard]] static CodePoints all() { return {{0, kLast}}; }

  void add(uint32_t first, uint32_t last);
  void add(const CodePoints& other);
  [[nodiscard]] CodePoints inverted() const;
  [[nodiscard]] CodePoints without(const CodePoints& other) const;
  [[nodiscard]] CodePoints common(const CodePoints& other) const;

  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] const std::vector<Range>& ranges() const noexcept { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

}  // namespace sluice
