#pragma once
#include "inference/sampler/constraint/code_points.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// A nondeterministic automaton over bytes (Thompson, CACM 1968), under construction. Every
/// function that takes `from` returns the state where what it adds ends. Loops only lead back to
/// states made for them, so more can be added behind any state returned.
class ByteNfa {
 public:
  using State = uint32_t;
  static constexpr size_t kMaxStates = 200'000;

  struct Edge {
    unsigned char first;
    unsigned char last;
    State to;
  };

  ByteNfa() : edges_(1), jumps_(1) {}

  [[nodiscard]] State start() const noexcept { return 0; }
  [[nodiscard]] size_t size() const noexcept { return edges_.size(); }
  /// It would have more than kMaxStates; what it is then is of no use. Builders stop early.
  [[nodiscard]] bool full() const noexcept { return full_; }

  State add();
  void edge(State from, unsigned char first, unsigned char last, State to);
  /// Without a byte.
  void jump(State from, State to);

  State text(State from, std::string_view bytes);
  /// One character of the set, as UTF-8.
  State character(State from, const CodePoints& set);

  [[nodiscard]] const std::vector<Edge>& edges(State state) const { return edges_[state]; }
  [[nodiscard]] const std::vector<State>& jumps(State state) const { return jumps_[state]; }

 private:
  /// A range of characters of the same length whose bytes vary independently or are split.
  void range(State from, uint32_t first, uint32_t last, State to);

  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<State>> jumps_;
  bool full_ = false;
};

}  // namespace sluice
