#pragma once
#include "inference/sampler/constraint/byte_dfa.h"
#include "inference/sampler/constraint/token_trie.h"
#include "inference/sampler/token_mask.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

/// The texts that a request allows, compiled. Immutable; made once for a request and shared by its
/// samples. Compiling is bounded in size and steps (ByteNfa, ByteDfa, RegexLimits).
class Constraint {
 public:
  /// Texts that are a match as a whole; see parse_regex.
  static Result<std::shared_ptr<const Constraint>> regex(std::string_view pattern);
  /// JSON that satisfies a schema; see add_json_schema for what is supported and how it is written.
  static Result<std::shared_ptr<const Constraint>> json_schema(std::string_view schema);
  /// Any JSON object (response_format "json_object"), nested up to a few levels.
  static Result<std::shared_ptr<const Constraint>> json_object();
  /// One of the texts.
  static Result<std::shared_ptr<const Constraint>> choice(std::span<const std::string> texts);

  [[nodiscard]] const ByteDfa& automaton() const noexcept { return automaton_; }
  /// Of memory.
  [[nodiscard]] size_t bytes() const noexcept { return sizeof *this + automaton_.bytes(); }

 private:
  explicit Constraint(ByteDfa automaton) : automaton_(std::move(automaton)) {}
  ByteDfa automaton_;
};

/// Which tokens a constraint allows where, for one vocabulary (Willard and Louf 2023, arXiv
/// 2307.09702). Where a sample stands is a number: it starts at kStart and is copied with a fork.
/// Masks are made on demand and kept, up to kMaxMasks. One thread.
///
///   auto mask = masks.mask(state);            // for TokenLimits::allowed
///   ... draw token ...
///   state = masks.advance(state, token);
class ConstraintMasks {
 public:
  using State = ByteDfa::State;
  static constexpr State kStart = ByteDfa::kStart;
  static constexpr State kDead = ByteDfa::kDead;
  static constexpr size_t kMaxMasks = 512;

  /// `stop_ids` end a text; they are allowed where it may end.
  ConstraintMasks(std::shared_ptr<const Constraint> constraint,
                  std::shared_ptr<const TokenTrie> trie, std::span<const int64_t> stop_ids);

  /// The tokens that may come next. Empty only when the vocabulary cannot spell what must come.
  [[nodiscard]] std::shared_ptr<const TokenMask> mask(State state);

  /// kDead when the token is not allowed there. Stop ids do not move.
  [[nodiscard]] State advance(State state, int64_t token) const noexcept;

  /// Whether the text may end, and whether it must.
  [[nodiscard]] bool may_end(State state) const noexcept { return dfa().accepts(state); }
  [[nodiscard]] bool must_end(State state) const noexcept { return !dfa().goes_on(state); }

  [[nodiscard]] const std::shared_ptr<const Constraint>& constraint() const noexcept {
    return constraint_;
  }
  [[nodiscard]] std::span<const int64_t> stop_ids() const noexcept { return stop_ids_; }
  [[nodiscard]] size_t cached() const noexcept { return masks_.size(); }

 private:
  [[nodiscard]] const ByteDfa& dfa() const noexcept { return constraint_->automaton(); }
  [[nodiscard]] bool is_stop(int64_t token) const noexcept;
  [[nodiscard]] TokenMask make_mask(State state);

  std::shared_ptr<const Constraint> constraint_;
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<int64_t> stop_ids_;
  std::unordered_map<State, std::shared_ptr<const TokenMask>> masks_;
  std::vector<State> path_;
};

}  // namespace sluice
