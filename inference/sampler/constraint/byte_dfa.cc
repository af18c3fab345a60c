#include "inference/sampler/constraint/byte_dfa.h"

#include <algorithm>
#include <map>

namespace sluice {

/// The subset construction (Rabin and Scott 1959).
class DfaBuilder {
 public:
  using Set = std::vector<ByteNfa::State>;  ///< sorted

  DfaBuilder(const ByteNfa& nfa, ByteNfa::State accept) : nfa_(nfa), accept_(accept) {
    find_useful();
    find_classes();
    seen_.assign(nfa.size(), 0);
  }

  Result<ByteDfa> build() {
    if (!useful_[nfa_.start()]) return invalid_argument("no text satisfies it");
    Set start = {nfa_.start()};
    close(start);
    number(std::move(start));
    for (size_t state = 0; state < sets_.size(); ++state) {
      for (size_t c = 0; c < dfa_.classes_; ++c) {
        Set next = follow(*sets_[state], representative_[c]);
        if (work_ > ByteDfa::kMaxWork || sets_.size() > ByteDfa::kMaxStates) {
          return error(Code::ResourceExhausted, "it is too complicated: over {} states or {} steps",
                       ByteDfa::kMaxStates, ByteDfa::kMaxWork);
        }
        dfa_.table_[state * dfa_.classes_ + c] =
            next.empty() ? ByteDfa::kDead : number(std::move(next));
      }
    }
    return std::move(dfa_);
  }

 private:
  /// Marks the states from which the accepting one is reached.
  void find_useful() {
    std::vector<std::vector<ByteNfa::State>> back(nfa_.size());
    for (ByteNfa::State s = 0; s < nfa_.size(); ++s) {
      for (const auto& edge : nfa_.edges(s)) back[edge.to].push_back(s);
      for (const ByteNfa::State to : nfa_.jumps(s)) back[to].push_back(s);
    }
    useful_.assign(nfa_.size(), false);
    useful_[accept_] = true;
    std::vector<ByteNfa::State> queue = {accept_};
    while (!queue.empty()) {
      const ByteNfa::State state = queue.back();
      queue.pop_back();
      for (const ByteNfa::State from : back[state]) {
        if (useful_[from]) continue;
        useful_[from] = true;
        queue.push_back(from);
      }
    }
  }

  void find_classes() {
    std::array<bool, 257> begins{};
    begins[0] = true;
    for (ByteNfa::State s = 0; s < nfa_.size(); ++s) {
      for (const auto& edge : nfa_.edges(s)) {
        begins[edge.first] = true;
        begins[edge.last + 1U] = true;
      }
    }
    for (size_t byte = 0; byte < 256; ++byte) {
      if (begins[byte]) representative_.push_back(static_cast<unsigned char>(byte));
      dfa_.class_of_[byte] = static_cast<uint8_t>(representative_.size() - 1);
    }
    dfa_.classes_ = representative_.size();
  }

  Set follow(const Set& set, unsigned char byte) {
    Set out;
    for (const ByteNfa::State state : set) {
      work_ += nfa_.edges(state).size();
      for (const auto& edge : nfa_.edges(state)) {
        if (byte >= edge.first && byte <= edge.last && useful_[edge.to]) out.push_back(edge.to);
      }
    }
    if (!out.empty()) close(out);
    return out;
  }

  /// Adds what jumps reach; keeps only states that tell sets apart.
  void close(Set& set) {
    ++round_;
    Set stack, out;
    const auto visit = [&](ByteNfa::State state) {
      if (seen_[state] == round_ || !useful_[state]) return;
      seen_[state] = round_;
      stack.push_back(state);
    };
    for (const ByteNfa::State state : set) visit(state);
    while (!stack.empty()) {
      const ByteNfa::State state = stack.back();
      stack.pop_back();
      work_ += 1 + nfa_.jumps(state).size();
      if (state == accept_ || !nfa_.edges(state).empty()) out.push_back(state);
      for (const ByteNfa::State to : nfa_.jumps(state)) visit(to);
    }
    std::sort(out.begin(), out.end());
    set = std::move(out);
  }

  ByteDfa::State number(Set set) {
    const auto [at, fresh] = numbers_.try_emplace(std::move(set), ByteDfa::State(sets_.size()));
    if (fresh) {
      sets_.push_back(&at->first);
      dfa_.accepts_.push_back(std::binary_search(at->first.begin(), at->first.end(), accept_));
      dfa_.table_.resize(sets_.size() * dfa_.classes_, ByteDfa::kDead);
    }
    return at->second;
  }

  const ByteNfa& nfa_;
  ByteNfa::State accept_;
  ByteDfa dfa_;
  std::vector<bool> useful_;
  std::vector<unsigned char> representative_;
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
  size_t work_ = 0;
  std::map<Set, ByteDfa::State> numbers_;
  std::vector<const Set*> sets_;
};

Result<ByteDfa> ByteDfa::from(const ByteNfa& nfa, ByteNfa::State accept) {
  if (nfa.full()) {
    return error(Code::ResourceExhausted, "it is too large: over {} states", ByteNfa::kMaxStates);
  }
  return DfaBuilder(nfa, accept).build();
}

ByteDfa::State ByteDfa::walk(State state, std::string_view bytes) const noexcept {
  for (const char c : bytes) {
    if (state == kDead) break;
    state = next(state, static_cast<unsigned char>(c));
  }
  return state;
}

bool ByteDfa::goes_on(State state) const noexcept {
  const auto row = table_.begin() + static_cast<std::ptrdiff_t>(state * classes_);
  return std::any_of(row, row + static_cast<std::ptrdiff_t>(classes_),
                     [](State to) { return to != kDead; });
}

}  // namespace sluice
