#include "inference/sampler/constraint/byte_nfa.h"

#include "models/tokenizer/utf8.h"

#include <algorithm>
#include <string>

namespace sluice {

ByteNfa::State ByteNfa::add() {
  if (edges_.size() == kMaxStates) {
    full_ = true;
    return static_cast<State>(kMaxStates - 1);
  }
  edges_.emplace_back();
  jumps_.emplace_back();
  return static_cast<State>(edges_.size() - 1);
}

void ByteNfa::edge(State from, unsigned char first, unsigned char last, State to) {
  if (!full_) edges_[from].push_back({first, last, to});
}

void ByteNfa::jump(State from, State to) {
  if (!full_ && from != to) jumps_[from].push_back(to);
}

ByteNfa::State ByteNfa::text(State from, std::string_view bytes) {
  for (const char c : bytes) {
    const State next = add();
    edge(from, static_cast<unsigned char>(c), static_cast<unsigned char>(c), next);
    from = next;
  }
  return from;
}

ByteNfa::State ByteNfa::character(State from, const CodePoints& set) {
  const State to = add();
  constexpr uint32_t kLastOfLength[] = {0x7F, 0x7FF, 0xFFFF, CodePoints::kLast};
  for (const auto& [first, last] : set.ranges()) {
    uint32_t begin = first;
    for (const uint32_t end : kLastOfLength) {
      if (begin > end || begin > last) continue;
      range(from, begin, std::min(end, last), to);
      begin = end + 1;
    }
  }
  return to;
}

void ByteNfa::range(State from, uint32_t first, uint32_t last, State to) {
  // Where the leading parts differ, the trailing six-bit groups must run over all their values.
  for (uint32_t bits = 6; bits <= 18 && last > 0x7F; bits += 6) {
    const uint32_t low = (uint32_t{1} << bits) - 1;
    if ((first | low) == (last | low)) break;
    if ((first & low) != 0) {
      range(from, first, first | low, to);
      return range(from, (first | low) + 1, last, to);
    }
    if ((last & low) != low) {
      range(from, first, (last & ~low) - 1, to);
      return range(from, last & ~low, last, to);
    }
  }
  std::string low, high;
  utf8::append(low, static_cast<char32_t>(first));
  utf8::append(high, static_cast<char32_t>(last));
  for (size_t i = 0; i < low.size(); ++i) {
    const State next = i + 1 == low.size() ? to : add();
    edge(from, static_cast<unsigned char>(low[i]), static_cast<unsigned char>(high[i]), next);
    from = next;
  }
}

}  // namespace sluice
