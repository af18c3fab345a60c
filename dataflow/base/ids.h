#pragma once
#include <compare>
#include <cstdint>
#include <string>

namespace sluice {

/// Names one state of a policy's weights. `run` and `incarnation` say who trained it (a trainer
/// that comes back from a checkpoint starts a new incarnation), `step` counts its published
/// versions from 0, `digest` is the hash of the weight bytes. A bare integer never stands for a
/// version.
struct VersionTag {
  uint64_t run = 0;
  uint32_t incarnation = 0;
  int64_t step = -1;  ///< -1: no version yet
  uint64_t digest = 0;

  [[nodiscard]] bool valid() const noexcept { return step >= 0; }
  /// "v12.1-0123abcd" = step 12 of incarnation 1, first digits of the digest; "none" when invalid.
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const VersionTag&, const VersionTag&) = default;
};

/// Published later in the same run: a newer incarnation, or a higher step of the same one.
[[nodiscard]] bool newer(const VersionTag& a, const VersionTag& b) noexcept;

/// The oldest and newest policy version that had a hand in an item.
struct VersionSpan {
  VersionTag oldest;
  VersionTag newest;

  /// Widens the span so that it covers `tag`.
  void cover(const VersionTag& tag) noexcept;
  friend bool operator==(const VersionSpan&, const VersionSpan&) = default;
};

/// Versions behind: the trainer's step at consumption minus the oldest version in the item; 0 for
/// an item no policy made.
[[nodiscard]] int64_t staleness(const VersionTag& current, const VersionSpan& item) noexcept;

/// 64-bit content hash (xxHash3) of `size` bytes.
[[nodiscard]] uint64_t digest(const void* data, size_t size) noexcept;

}  // namespace sluice
