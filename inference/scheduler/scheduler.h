#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/ids.h"
#include "inference/kv/kv_space.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice {

using SequenceId = int64_t;

struct SchedulerOptions {
  int64_t token_budget = 512;    ///< tokens computed in one step
  int64_t long_prefill = 256;    ///< of one sequence in one step; 0: the whole budget
  int32_t max_sequences = 256;   ///< that run at the same time
  int64_t max_waiting = 65536;   ///< sequences that wait; more are refused
  int64_t max_length = 1 << 20;  ///< tokens of a sequence
  bool prefix_cache = true;
};

/// A sequence before it exists.
struct SequenceSpec {
  std::vector<int64_t> tokens;  ///< all that are known; at least one
  int64_t max_length = 0;       ///< tokens it may grow to
  int32_t samples = 1;          ///< into how many it will be forked behind `tokens`
  int64_t priority = 0;         ///< lower goes first, and takes the places of higher ones
  int64_t order = 0;            ///< then lower goes first: when its group came
  TimeNs deadline = kForever;
  std::string salt;         ///< prefixes are shared with equal salts only
  bool find_prefix = true;  ///< false: every token must be computed (prompt log-probs)
};

/// Tokens [begin, end) of a sequence, computed in one step.
struct StepRow {
  SequenceId sequence = 0;
  int64_t begin = 0;
  int64_t end = 0;
  bool last = false;   ///< `end` is the last known token: the next one can be sampled
  int64_t drafts = 0;  ///< guessed tokens behind `end` that are computed, too
  [[nodiscard]] int64_t tokens() const noexcept { return end - begin + drafts; }
  friend bool operator==(const StepRow&, const StepRow&) = default;
};

/// What one step computes. The blocks are reserved already.
struct StepPlan {
  std::vector<StepRow> rows;  ///< a sequence has one at most
  std::vector<BlockCopy> copies;
  int64_t tokens = 0;
};

struct SchedulerStats {
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t preemptions = 0;
  int64_t prefix_queries = 0;  ///< tokens that were looked for
  int64_t prefix_hits = 0;     ///< tokens that were found
};

/// Decides what each step computes. There are no phases: a sequence has known tokens and computed
/// ones, and every step hands out one budget of tokens, first to running sequences, then to waiting
/// ones, oldest group first, until computed catches up with known (continuous batching, chunked
/// prefill). When blocks run out, the youngest running sequence loses its own and waits to be
/// computed anew; the oldest always gets on, so that none waits for ever. One that waits with a
/// lower priority number than running ones takes their places, the youngest's first. Pure
/// bookkeeping, one thread:
///
/// Guesses of what follows (draft()) are computed with what is left of the budget and the blocks.
///
///   StepPlan plan = scheduler.plan();   // blocks are reserved
///   ... compute its rows; when that fails: scheduler.rollback() and nothing has happened ...
///   scheduler.commit();
///   scheduler.append(id, token);        // for rows with `last`; or fork() first, or finish()
class Scheduler {
 public:
  Scheduler(SchedulerOptions options, int32_t blocks, int32_t block_size, VersionTag version = {},
            PrefixCache::Hash hash = nullptr);

  /// InvalidArgument or ResourceExhausted when the sequence can never run (the message says which
  /// number is too large), Unavailable when too many wait.
  Result<SequenceId> submit(SequenceSpec spec);
  /// What submit() would say.
  [[nodiscard]] Status admissible(const SequenceSpec& spec) const;

  [[nodiscard]] StepPlan plan();
  void commit();
  void rollback();

  /// Running sequences of which all tokens but the newest are computed, in their order.
  [[nodiscard]] std::vector<SequenceId> ready() const;
  /// Guesses what follows the tokens of a sequence, for the next plan() only. Displaces nothing.
  void draft(SequenceId id, std::vector<int64_t> tokens);
  /// The guesses that the plan's row of this sequence computes.
  [[nodiscard]] std::span<const int64_t> drafts(SequenceId id) const { return at(id).drafts; }

  /// The next known token. Between commit() and plan().
  void append(SequenceId id, int64_t token) { append(id, {&token, 1}); }
  /// Several: all but the last are the first drafts() of the sequence, which are computed. What was
  /// computed of the others is forgotten.
  void append(SequenceId id, std::span<const int64_t> tokens);
  /// `children` more sequences with the same tokens and blocks; they run at once. The sequence's
  /// tokens must be computed. Between commit() and plan().
  std::vector<SequenceId> fork(SequenceId id, int32_t children);
  /// Ends a sequence in whatever state and frees its blocks. `keep` false: its prefixes are
  /// forgotten. Not between plan() and commit().
  void finish(SequenceId id, bool keep = true);
  /// Sequences whose deadline has come; the caller finishes them.
  [[nodiscard]] std::vector<SequenceId> expired(TimeNs now) const;

  /// The weights became `version`. All prefixes are forgotten. `recompute`: running sequences wait
  /// and are computed anew; otherwise they keep their blocks, and cache no more prefixes.
  void change_version(VersionTag version, bool recompute);
  /// While paused only sequences that ran before are admitted.
  void pause(bool paused) noexcept { paused_ = paused; }
  /// Sequences that run, or ran before they were preempted.
  [[nodiscard]] int64_t started() const noexcept { return started_; }

  [[nodiscard]] bool idle() const noexcept { return sequences_.empty(); }
  [[nodiscard]] const BlockTable& table(SequenceId id) const { return at(id).table; }
  [[nodiscard]] const std::vector<int64_t>& tokens(SequenceId id) const { return at(id).tokens; }
  /// Tokens whose keys and values were found when the sequence was last admitted.
  [[nodiscard]] int64_t cached(SequenceId id) const { return at(id).cached; }
  [[nodiscard]] const KvSpace& space() const noexcept { return space_; }
  [[nodiscard]] SchedulerStats stats() const;
  /// Internal when an invariant is broken: holders of blocks, states, numbers.
  [[nodiscard]] Status check() const;

 private:
  struct Key {
    int64_t priority = 0;
    int64_t order = 0;
    SequenceId id = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Sequence {
    Key key;
    std::vector<int64_t> tokens;
    std::vector<int64_t> drafts;  ///< of the open plan, until append()
    int64_t computed = 0;
    int64_t cached = 0;
    int32_t samples = 1;
    TimeNs deadline = kForever;
    std::string salt;
    bool find_prefix = true;
    bool running = false;
    bool started = false;
    BlockTable table;
  };
  using Queue = std::map<Key, Sequence*>;

  [[nodiscard]] Sequence& at(SequenceId id);
  [[nodiscard]] const Sequence& at(SequenceId id) const;
  /// Tokens that a step may compute of `s`.
  [[nodiscard]] int64_t share(const Sequence& s, int64_t budget) const;
  [[nodiscard]] bool reserve_or_preempt(Sequence& s, int64_t end);
  void preempt(Sequence& s);
  /// Takes the places of running sequences of a higher priority number for the first that waits.
  void make_room_for_urgent();
  void admit_waiting(StepPlan& plan);
  [[nodiscard]] bool admit(Sequence& s, int64_t budget);
  void add_row(StepPlan& plan, const Sequence& s, int64_t tokens);
  void add_drafts(StepPlan& plan);
  [[nodiscard]] int64_t slots() const;

  SchedulerOptions options_;
  KvSpace space_;
  VersionTag version_;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  Queue running_;
  Queue waiting_;
  SequenceId next_id_ = 1;
  int64_t started_ = 0;
  int64_t timed_ = 0;  ///< sequences with a deadline
  bool paused_ = false;
  bool preempted_in_step_ = false;
  SchedulerStats stats_;
  std::unordered_map<SequenceId, std::vector<int64_t>> guesses_;  ///< for the next plan
  StepPlan open_;                     ///< what plan() returned, until commit() or rollback()
  std::vector<SequenceId> admitted_;  ///< by that plan
};

}  // namespace sluice
