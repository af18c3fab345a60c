#include "inference/scheduler/scheduler.h"

#include <algorithm>

namespace sluice {

Scheduler::Scheduler(SchedulerOptions options, int32_t blocks, int32_t block_size,
                     VersionTag version, PrefixCache::Hash hash)
    : options_(options), space_(blocks, block_size, hash), version_(version) {
  SLUICE_CHECK(options.token_budget > 0 && options.long_prefill >= 0 && options.max_sequences > 0)
      << "budget " << options.token_budget << ", long prefill " << options.long_prefill
      << ", sequences " << options.max_sequences;
}

Scheduler::Sequence& Scheduler::at(SequenceId id) {
  const auto it = sequences_.find(id);
  SLUICE_CHECK(it != sequences_.end()) << "no sequence " << id;
  return *it->second;
}

const Scheduler::Sequence& Scheduler::at(SequenceId id) const {
  const auto it = sequences_.find(id);
  SLUICE_CHECK(it != sequences_.end()) << "no sequence " << id;
  return *it->second;
}

Status Scheduler::admissible(const SequenceSpec& spec) const {
  const auto known = std::ssize(spec.tokens);
  if (known == 0) return invalid_argument("the prompt has no tokens");
  const int64_t length = std::max(spec.max_length, known);
  if (length > options_.max_length) {
    return invalid_argument("{} tokens are more than the {} of the longest sequence", length,
                            options_.max_length);
  }
  if (spec.samples < 1 || spec.samples > options_.max_sequences) {
    return invalid_argument("{} samples are not between 1 and {}", spec.samples,
                            options_.max_sequences);
  }
  // The last token is never computed, unless it is known from the start.
  const int64_t needed = space_.blocks_for(std::max(length - 1, known));
  if (needed > space_.blocks()) {
    return error(Code::ResourceExhausted, "{} tokens need {} blocks of {}, there are {}", length,
                 needed, space_.block_size(), space_.blocks());
  }
  if (std::ssize(waiting_) >= options_.max_waiting) {
    return error(Code::Unavailable, "{} sequences wait already", waiting_.size());
  }
  return {};
}

Result<SequenceId> Scheduler::submit(SequenceSpec spec) {
  RETURN_IF_ERROR(admissible(spec));
  auto s = std::make_unique<Sequence>();
  const SequenceId id = next_id_++;
  s->key = {spec.priority, spec.order, id};
  s->tokens = std::move(spec.tokens);
  s->samples = spec.samples;
  s->deadline = spec.deadline;
  s->salt = std::move(spec.salt);
  s->find_prefix = spec.find_prefix && options_.prefix_cache;
  timed_ += s->deadline == kForever ? 0 : 1;
  waiting_.emplace(s->key, s.get());
  sequences_.emplace(id, std::move(s));
  return id;
}

int64_t Scheduler::share(const Sequence& s, int64_t budget) const {
  int64_t tokens = std::min(std::ssize(s.tokens) - s.computed, budget);
  if (options_.long_prefill > 0) tokens = std::min(tokens, options_.long_prefill);
  return tokens;
}

void Scheduler::preempt(Sequence& s) {
  space_.release(s.table);
  s.computed = 0;
  s.running = false;
  running_.erase(s.key);
  waiting_.emplace(s.key, &s);
  ++stats_.preemptions;
  preempted_in_step_ = true;
}

bool Scheduler::reserve_or_preempt(Sequence& s, int64_t end) {
  while (!space_.reserve(s.table, s.computed, end)) {
    Sequence& youngest = *running_.rbegin()->second;
    // Those before it have their rows; they will end and leave their blocks to it.
    if (&youngest == &s) return false;
    preempt(youngest);
  }
  return true;
}

void Scheduler::add_row(StepPlan& plan, const Sequence& s, int64_t tokens) {
  const int64_t end = s.computed + tokens;
  plan.rows.push_back({s.key.id, s.computed, end, end == std::ssize(s.tokens)});
  plan.tokens += tokens;
}

void Scheduler::add_drafts(StepPlan& plan) {
  for (StepRow& row : plan.rows) {
    const auto guess = guesses_.find(row.sequence);
    if (guess == guesses_.end() || !row.last) continue;
    Sequence& s = at(row.sequence);
    int64_t fits = std::min(std::ssize(guess->second), options_.token_budget - plan.tokens);
    while (fits > 0 && !space_.reserve(s.table, row.end, row.end + fits)) --fits;
    if (fits <= 0) continue;
    s.drafts = std::move(guess->second);
    s.drafts.resize(static_cast<size_t>(fits));
    row.drafts = fits;
    plan.tokens += fits;
  }
  guesses_.clear();
}

int64_t Scheduler::slots() const {
  int64_t taken = 0;
  for (const auto& [key, s] : running_) taken += s->samples;
  return taken;
}

bool Scheduler::admit(Sequence& s, int64_t budget) {
  s.cached = space_.attach(s.table, prefix_root(version_, s.salt), s.tokens, s.find_prefix);
  s.computed = s.cached;
  // All known tokens must find room, and a block stays for each running sequence to grow into:
  // one that is admitted too early is preempted at once.
  const auto known = std::ssize(s.tokens);
  const int64_t needed = space_.needed(s.table, s.computed, known);
  const int64_t tokens = share(s, budget);
  if (needed + std::ssize(running_) <= space_.free_blocks() &&
      space_.reserve(s.table, s.computed, s.computed + tokens)) {
    return true;
  }
  space_.release(s.table);
  s.computed = 0;
  return false;
}

void Scheduler::make_room_for_urgent() {
  if (waiting_.empty()) return;
  const Sequence& first = *waiting_.begin()->second;
  if (paused_ && !first.started) return;
  const int64_t blocks = space_.blocks_for(std::ssize(first.tokens));
  int64_t taken = slots();
  while (!running_.empty()) {
    Sequence& youngest = *running_.rbegin()->second;
    const bool fits = taken + first.samples <= options_.max_sequences &&
                      blocks + std::ssize(running_) <= space_.free_blocks();
    if (fits || youngest.key.priority <= first.key.priority) return;
    taken -= youngest.samples;
    preempt(youngest);
  }
}

void Scheduler::admit_waiting(StepPlan& plan) {
  int64_t taken = slots();
  for (auto it = waiting_.begin(); it != waiting_.end() && plan.tokens < options_.token_budget;) {
    Sequence& s = *it->second;
    if (paused_ && !s.started) {
      ++it;
      continue;
    }
    if (taken + s.samples > options_.max_sequences) break;
    const int64_t budget = options_.token_budget - plan.tokens;
    // None overtakes: a large one would wait for ever.
    if (!admit(s, budget)) break;
    if (s.find_prefix) {
      stats_.prefix_queries += std::ssize(s.tokens);
      stats_.prefix_hits += s.cached;
    }
    add_row(plan, s, share(s, budget));
    taken += s.samples;
    s.running = true;
    admitted_.push_back(s.key.id);
    running_.emplace(s.key, &s);
    it = waiting_.erase(it);
  }
}

StepPlan Scheduler::plan() {
  SLUICE_CHECK(open_.rows.empty()) << "the last step was neither committed nor rolled back";
  StepPlan plan;
  make_room_for_urgent();
  preempted_in_step_ = false;
  for (auto it = running_.begin(); it != running_.end() && plan.tokens < options_.token_budget;
       ++it) {
    Sequence& s = *it->second;
    const int64_t tokens = share(s, options_.token_budget - plan.tokens);
    if (!reserve_or_preempt(s, s.computed + tokens)) break;
    add_row(plan, s, tokens);
  }
  if (!preempted_in_step_) admit_waiting(plan);
  add_drafts(plan);
  plan.copies = space_.copies();
  open_ = plan;
  return plan;
}

void Scheduler::commit() {
  space_.commit();
  for (const StepRow& row : open_.rows) {
    Sequence& s = at(row.sequence);
    s.computed = row.end;
    if (options_.prefix_cache) space_.cache_full(s.table, s.tokens, s.computed);
    if (!s.started) {
      s.started = true;
      ++started_;
    }
  }
  open_ = {};
  admitted_.clear();
}

void Scheduler::rollback() {
  space_.rollback();
  for (const StepRow& row : open_.rows) at(row.sequence).drafts.clear();
  for (const SequenceId id : admitted_) {
    Sequence& s = at(id);
    space_.release(s.table);
    s.computed = 0;
    s.running = false;
    running_.erase(s.key);
    waiting_.emplace(s.key, &s);
  }
  open_ = {};
  admitted_.clear();
}

std::vector<SequenceId> Scheduler::ready() const {
  std::vector<SequenceId> ids;
  for (const auto& [key, s] : running_) {
    if (s->computed + 1 == std::ssize(s->tokens)) ids.push_back(key.id);
  }
  return ids;
}

void Scheduler::draft(SequenceId id, std::vector<int64_t> tokens) {
  SLUICE_CHECK(open_.rows.empty() && at(id).running) << "no guesses for sequence " << id;
  guesses_[id] = std::move(tokens);
}

void Scheduler::append(SequenceId id, std::span<const int64_t> tokens) {
  SLUICE_CHECK(open_.rows.empty()) << "a step is open";
  Sequence& s = at(id);
  SLUICE_CHECK(s.running && s.computed == std::ssize(s.tokens))
      << "sequence " << id << " has computed " << s.computed << " of " << s.tokens.size();
  SLUICE_CHECK(!tokens.empty() && tokens.size() <= s.drafts.size() + 1)
      << tokens.size() << " tokens behind " << s.drafts.size() << " drafts";
  s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
  s.computed += std::ssize(tokens) - 1;
  if (s.drafts.empty()) return;
  s.drafts.clear();
  space_.truncate(s.table, s.computed);
}

std::vector<SequenceId> Scheduler::fork(SequenceId id, int32_t children) {
  SLUICE_CHECK(open_.rows.empty()) << "a step is open";
  Sequence& parent = at(id);
  SLUICE_CHECK(parent.running && parent.computed == std::ssize(parent.tokens) &&
               parent.drafts.empty())
      << "sequence " << id << " has computed " << parent.computed << " of " << parent.tokens.size();
  parent.samples = 1;
  std::vector<SequenceId> ids;
  for (int32_t i = 0; i < children; ++i) {
    auto child = std::make_unique<Sequence>(parent);
    child->table = space_.fork(parent.table);
    child->key.id = next_id_++;
    ids.push_back(child->key.id);
    ++started_;
    timed_ += child->deadline == kForever ? 0 : 1;
    running_.emplace(child->key, child.get());
    sequences_.emplace(child->key.id, std::move(child));
  }
  return ids;
}

void Scheduler::finish(SequenceId id, bool keep) {
  SLUICE_CHECK(open_.rows.empty()) << "a step is open";
  Sequence& s = at(id);
  space_.release(s.table, keep);
  guesses_.erase(id);
  (s.running ? running_ : waiting_).erase(s.key);
  if (s.started) --started_;
  timed_ -= s.deadline == kForever ? 0 : 1;
  sequences_.erase(id);
}

std::vector<SequenceId> Scheduler::expired(TimeNs now) const {
  std::vector<SequenceId> ids;
  if (timed_ == 0) return ids;
  for (const Queue* queue : {&running_, &waiting_}) {
    for (const auto& [key, s] : *queue) {
      if (s->deadline <= now) ids.push_back(key.id);
    }
  }
  return ids;
}

void Scheduler::change_version(VersionTag version, bool recompute) {
  SLUICE_CHECK(open_.rows.empty()) << "a step is open";
  version_ = version;
  space_.forget_prefixes();
  if (!recompute) {
    for (const auto& [key, s] : running_) s->table.cacheable = false;
    return;
  }
  const Queue running = running_;
  for (const auto& [key, s] : running) {
    space_.release(s->table, false);
    s->computed = 0;
    s->running = false;
    waiting_.emplace(key, s);
  }
  running_.clear();
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = stats_;
  stats.running = std::ssize(running_);
  stats.waiting = std::ssize(waiting_);
  return stats;
}

Status Scheduler::check() const {
  std::vector<const BlockTable*> tables;
  int64_t started = 0;
  int64_t timed = 0;
  for (const auto& [id, s] : sequences_) {
    tables.push_back(&s->table);
    started += s->started ? 1 : 0;
    timed += s->deadline == kForever ? 0 : 1;
    const Queue& queue = s->running ? running_ : waiting_;
    const auto it = queue.find(s->key);
    if (it == queue.end() || it->second != s.get()) {
      return error(Code::Internal, "sequence {} is not in its queue", id);
    }
    const auto known = std::ssize(s->tokens);
    if (s->running ? s->computed >= known : s->computed != 0 || !s->table.blocks.empty()) {
      return error(Code::Internal, "sequence {} has computed {} of {}", id, s->computed, known);
    }
    if (s->running && open_.rows.empty() &&
        std::ssize(s->table.blocks) != space_.blocks_for(s->computed + std::ssize(s->drafts))) {
      return error(Code::Internal, "sequence {} holds {} blocks for {} tokens", id,
                   s->table.blocks.size(), s->computed);
    }
  }
  if (running_.size() + waiting_.size() != sequences_.size() || started != started_ ||
      timed != timed_) {
    return error(Code::Internal,
                 "{} running, {} waiting, {} in all; {} started, {} counted; {} timed, {} counted",
                 running_.size(), waiting_.size(), sequences_.size(), started, started_, timed,
                 timed_);
  }
  return space_.check(tables);
}

}  // namespace sluice
