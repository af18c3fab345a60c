#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Which tokens a sample has seen: in its prompt, and how often in its output. What penalties and
/// min_tokens look at. A value; a fork copies it, and after preemption it is what it was, since
/// output recomputed as prompt is not counted again.
class TokenCounts {
 public:
  struct Entry {
    int64_t token = 0;
    bool in_prompt = false;
    int32_t output = 0;  ///< times in the output
  };

  void add_prompt(std::span<const int64_t> tokens);
  void add_output(int64_t token);

  /// Tokens in the output so far.
  [[nodiscard]] int64_t generated() const noexcept { return generated_; }
  /// One for each distinct token, in the order they came.
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  Entry& entry(int64_t token);
  void grow();

  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  ///< open addressing: index of an entry plus 1, 0 is free
  int64_t generated_ = 0;
};

}  // namespace sluice
