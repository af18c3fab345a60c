#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Looks for stop strings in a text that comes byte by byte (Aho and Corasick, CACM 1975). The
/// node it stands at is the longest end of the text that begins a stop string: just what must be
/// held back. Immutable; a place in a text is a number.
class StopMatcher {
 public:
  static constexpr uint32_t kStart = 0;
  static constexpr int32_t kNone = -1;

  /// Stop strings are not empty.
  explicit StopMatcher(std::span<const std::string> stops);

  [[nodiscard]] bool empty() const noexcept { return nodes_.size() == 1; }
  /// The place after one more byte.
  [[nodiscard]] uint32_t step(uint32_t node, unsigned char byte) const noexcept;
  /// Bytes at the end of the text that begin a stop string.
  [[nodiscard]] size_t held(uint32_t node) const noexcept { return nodes_[node].depth; }
  /// The longest stop string that ends here (its index), or kNone.
  [[nodiscard]] int32_t match(uint32_t node) const noexcept { return nodes_[node].match; }
  [[nodiscard]] size_t length(int32_t stop) const { return lengths_[static_cast<size_t>(stop)]; }

 private:
  struct Node {
    uint32_t first_child = 0;
    uint32_t sibling = 0;
    uint32_t fail = 0;
    uint32_t depth = 0;
    int32_t match = kNone;
    unsigned char byte = 0;
  };
  /// 0 when there is none.
  [[nodiscard]] uint32_t child(uint32_t node, unsigned char byte) const noexcept;
  void add(std::string_view stop, int32_t index);
  void link();

  std::vector<Node> nodes_;
  std::vector<size_t> lengths_;
};

/// Text on its way out: passes on what cannot belong to a stop string any more.
class StopFilter {
 public:
  explicit StopFilter(const StopMatcher* matcher) : matcher_(matcher) {}

  /// Appends to `out` what became certain. The stop string whose end comes first ends the text:
  /// its index is returned, it goes to `out` only with `include`, nothing after it does, and put
  /// must not be called again. `may_stop` false: stop strings pass.
  int32_t put(std::string_view text, bool may_stop, bool include, std::string& out);
  /// The text ended otherwise: what was held back follows.
  void flush(std::string& out);

 private:
  const StopMatcher* matcher_;
  uint32_t node_ = StopMatcher::kStart;
  std::string held_;
};

}  // namespace sluice
