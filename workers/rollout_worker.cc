#include "workers/rollout_worker.h"

#include "dataflow/base/log.h"
#include "envs/registry.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

using enum Trajectory::Column;
enum AskColumn : int64_t { kSlot, kDraw, kWant };
/// Bad resets in a row after which an environment counts as broken.
constexpr int kBadResets = 16;

enum AnswerColumn : int64_t { kAnswerAction, kAnswerLogProb, kAnswerValue };

}  // namespace

void Rollout::bind(ConfigBinder& b) {
  b.field("env", env, "environment, by its registered name");
  b.field("ring", ring, "environments per replica", Range::between(1, 1 << 20));
  b.field("horizon", horizon, "steps per chunk", Range::between(1, 1 << 20));
  b.field("flush_ready", flush_ready, "ask when so many slots are ready; 0 = whatever is ready",
          Range::at_least(0));
  b.field("flush_within_us", flush_within_us, "or when the first has waited so many microseconds",
          Range::at_least(0));
  b.field("on_bad_step", on_bad_step, "what a NaN or Inf from the environment does",
          {{"abort", OnBadStep::Abort}, {"drop_episode", OnBadStep::DropEpisode}});
}

void Rollout::check(std::vector<std::string>& problems) const {
  if (const auto known = env_spec(env); !known.ok()) problems.push_back(known.status().message());
  if (flush_ready > ring) {
    problems.push_back(
        fmt::format("flush_ready {} is more than the ring of {} environments", flush_ready, ring));
  }
}

PortSchemas Rollout::schemas() const {
  PortSchemas out;
  if (const auto known = env_spec(env); known.ok()) {
    out.asks(0, Observation::schema(known->observation), Action::schema(known->action.tensor()));
    out.writes(0, Trajectory::schema(known->observation, known->action.tensor()), horizon);
  }
  return out;
}

int64_t Rollout::memory_bytes() const {
  const auto known = env_spec(env);
  if (!known.ok()) return 0;
  const Schema schema = Trajectory::schema(known->observation, known->action.tensor());
  int64_t row = 0;
  for (const auto& field : schema.fields()) row += field.bytes();
  return 2 * ring * horizon * row;  // one chunk being filled and one on its way, per slot
}

Result<std::unique_ptr<Worker>> Rollout::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto ring_of_envs,
                   EnvRing::make(env, ring, context.replica() * ring, RandomKey(context.seed()),
                                 context.attempt(), context.where()));
  ASSIGN_OR_RETURN(auto client, (context.client<Observation, Action>()));
  ASSIGN_OR_RETURN(auto writer, context.writer<Trajectory>());
  return std::unique_ptr<Worker>(std::make_unique<RolloutWorker>(
      *this, std::move(ring_of_envs), context, std::move(client), std::move(writer)));
}

RolloutWorker::RolloutWorker(const Rollout& spec, EnvRing ring, WorkerContext& context,
                             ServiceClient<Observation, Action> act,
                             StreamWriter<Trajectory> samples)
    : spec_(spec),
      name_(fmt::format("{}/{}", context.worker(), context.replica())),
      ring_(std::move(ring)),
      clock_(context.clock()),
      service_(std::move(act)),
      samples_(std::move(samples)),
      pool_([schema = Trajectory::schema(ring_.spec().observation, ring_.spec().action.tensor()),
             rows = spec.horizon] {
        auto made = std::make_unique<Trajectory>();
        made->steps = Batch(schema, rows);
        made->episodes.reserve(8);
        return made;
      }),
      fields_(static_cast<int64_t>(ring_.spec().observation.size())),
      want_action_(static_cast<size_t>(spec.ring), 1),
      steps_(context.metrics().counter("sluice_env_steps_total", "Environment steps taken.",
                                       context.labels())),
      episodes_(context.metrics().counter("sluice_env_episodes_total", "Episodes ended.",
                                          context.labels())),
      dropped_(context.metrics().counter("sluice_env_episodes_dropped_total",
                                         "Episodes thrown away because of NaN or Inf.",
                                         context.labels())),
      reissued_(context.metrics().counter("sluice_rollout_reissued_total",
                                          "Questions asked again because their server was lost.",
                                          context.labels())),
      given_up_(context.metrics().counter("sluice_rollout_dropped_total",
                                          "Chunks begun, but never handed out.",
                                          context.labels({{"reason", "drained"}}))),
      lost_(context.metrics().counter("sluice_rollout_dropped_total",
                                      "Chunks begun, but never handed out.",
                                      context.labels({{"reason", "lost"}}))) {
  for (int64_t i = 0; i < spec.ring; ++i) waiting_.push_back(i);
}

RolloutWorker::~RolloutWorker() {
  if (!over_) count_given_up(lost_);
}

void RolloutWorker::count_given_up(Counter& reason) {
  auto chunks = static_cast<int64_t>(finished_.size());
  for (int64_t i = 0; i < ring_.size(); ++i) chunks += ring_.slot(i).chunk ? 1 : 0;
  reason.add(chunks);
}

Result<StepResult> RolloutWorker::step() {
  Status failure;
  bool progress = collect_answers(failure);
  RETURN_IF_ERROR(failure);
  progress |= submit_finished();
  RETURN_IF_ERROR(open_admitted(progress));
  if (draining()) {  // chunks under way are given up; what is finished still goes out
    ready_.clear();
  }
  progress |= ask(clock_.now());
  if (draining() && in_flight_.empty() && finished_.empty()) {
    count_given_up(given_up_);
    over_ = true;  // the chunks stay where they are: save() takes the observations from them
    service_.close();
    samples_.close();
    return StepResult::finished();
  }
  if (progress) return StepResult::progress();
  TimeNs until = service_.next_deadline();
  if (!ready_.empty())
    until = std::min(until, after(ready_since_, spec_.flush_within_us * kMicrosecond));
  return StepResult::idle(until);
}

bool RolloutWorker::collect_answers(Status& failure) {
  bool any = false;
  while (auto call = service_.try_collect()) {
    any = true;
    if (call->status.ok()) {
      spare_slots_ = take_asked(call->id);  // its memory serves the next question
      failure = deliver(*call);
    } else {
      failure = ask_again(*call);
    }
    // What comes back for a question that a lost server held has no buffers.
    if (call->request.rows.rows() >= spec_.ring) spare_.push_back(std::move(call));
    if (!failure.ok()) break;
  }
  return any;
}

std::vector<int64_t> RolloutWorker::take_asked(int64_t question) {
  const auto found = std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [&](const Asked& asked) { return asked.question == question; });
  SLUICE_CHECK(found != in_flight_.end()) << "an answer to question " << question << ", never put";
  std::vector<int64_t> slots = std::move(found->slots);
  in_flight_.erase(found);
  return slots;
}

Status RolloutWorker::ask_again(const Call& call) {
  const std::vector<int64_t> slots = take_asked(call.id);
  const Code code = call.status.code();
  if (code != Code::Unavailable && code != Code::DeadlineExceeded) {
    return call.status.with_context("the policy refused a question");
  }
  reissued_.add(static_cast<int64_t>(slots.size()));
  for (const int64_t i : slots) {
    const bool action = want_action_[static_cast<size_t>(i)] != 0;
    if (action) --ring_.slot(i).draws;  // the same draw again: a lost answer changes nothing
    want(i, action);
  }
  return {};
}

Status RolloutWorker::deliver(const Call& call) {
  const auto* slots = call.request.rows.data<int64_t>(fields_ + kSlot);
  const auto* want = call.request.rows.data<uint8_t>(fields_ + kWant);
  const auto* value = call.response.rows.data<float>(kAnswerValue);
  const int64_t first = ring_.slot(0).id;
  int64_t actions = 0;
  for (int64_t row = 0; row < call.request.count; ++row) actions += want[row] != 0 ? 1 : 0;
  steps_.add(actions);  // once per answer: a counter is a locked add
  for (int64_t row = 0; row < call.request.count; ++row) {
    const int64_t i = slots[row] - first;
    const Status status = want[row] != 0 ? act(i, call.response, row) : bootstrap(i, value[row]);
    if (may_drop(status)) {
      note_dropped(i, status);
      RETURN_IF_ERROR(open_chunk(i, std::move(ring_.slot(i).chunk)));
    } else if (!status.ok()) {
      return status;
    }
  }
  return {};
}

Status RolloutWorker::act(int64_t i, const Action& action, int64_t row) {
  EnvSlot& slot = ring_.slot(i);
  Batch& steps = slot.chunk->steps;
  const int64_t t = slot.t;
  steps.data<float>(fields_ + kLogProb)[t] = action.rows.data<float>(kAnswerLogProb)[row];
  steps.data<float>(fields_ + kValue)[t] = action.rows.data<float>(kAnswerValue)[row];
  slot.chunk->versions.cover(action.version);
  const char* chosen =
      action.rows.data<char>(kAnswerAction) + row * action.rows.row_bytes(kAnswerAction);
  ASSIGN_OR_RETURN(const Transition transition, ring_.step(slot, chosen));
  const bool last = slot.t == steps.rows();
  if (transition.terminated) {
    episodes_.add();
    RETURN_IF_ERROR(ring_.reset(slot));
    if (last) {
      finish_chunk(i);
    } else {
      want(i, true);
    }
  } else if (transition.truncated || last) {
    want(i, false);  // the value of what follows, before anything else happens to it
  } else {
    want(i, true);
  }
  return {};
}

Status RolloutWorker::bootstrap(int64_t i, float value) {
  EnvSlot& slot = ring_.slot(i);
  slot.chunk->steps.data<float>(fields_ + kBootstrap)[slot.t - 1] = value;
  if (slot.needs_reset) {
    episodes_.add();
    RETURN_IF_ERROR(ring_.reset(slot));
  }
  if (slot.t == slot.chunk->steps.rows()) {
    finish_chunk(i);
  } else {
    want(i, true);
  }
  return {};
}

void RolloutWorker::finish_chunk(int64_t i) {
  finished_.push_back({i, ring_.close_chunk(ring_.slot(i))});
}

bool RolloutWorker::may_drop(const Status& status) const {
  return status.code() == Code::DataLoss && spec_.on_bad_step == OnBadStep::DropEpisode;
}

void RolloutWorker::note_dropped(int64_t i, const Status& why) {
  EnvSlot& slot = ring_.slot(i);
  dropped_.add();
  const int64_t total = dropped_.value();
  if ((total & (total - 1)) == 0) {  // 1, 2, 4, ..: a broken environment must not fill the log
    log(LogLevel::Warning, "{}: {}; its episode is dropped ({} so far)", name_, why.message(),
        total);
  }
  slot.needs_reset = true;
}

/// A chunk for slot i. Where bad episodes are dropped, so is one that is bad from its first
/// observation on; but an environment that gives nothing else is broken.
Status RolloutWorker::open_chunk(int64_t i, std::shared_ptr<Trajectory> chunk) {
  EnvSlot& slot = ring_.slot(i);
  Status status = ring_.open_chunk(slot, std::move(chunk));
  for (int more = kBadResets; may_drop(status) && more > 0; --more) {
    note_dropped(i, status);
    status = ring_.open_chunk(slot, std::move(slot.chunk));
  }
  RETURN_IF_ERROR(status);
  want(i, true);
  return {};
}

bool RolloutWorker::submit_finished() {
  bool any = false;
  while (!finished_.empty()) {
    Finished& next = finished_.front();
    const PutResult result = samples_.try_put(next.chunk, next.chunk->versions);
    if (result == PutResult::Full) break;
    any = true;
    waiting_.push_back(next.slot);
    finished_.pop_front();
  }
  return any;
}

Status RolloutWorker::open_admitted(bool& progress) {
  if (draining()) {
    if (permits_ > 0) samples_.give_back(permits_);
    permits_ = 0;
    return {};
  }
  if (waiting_.empty()) return {};
  permits_ += samples_.admit(static_cast<int64_t>(waiting_.size()) - permits_);
  // Slots start in order of id, so that the data order does not depend on who finished first.
  if (permits_ > 0) std::sort(waiting_.begin(), waiting_.end());
  const auto starting = std::min<int64_t>(permits_, static_cast<int64_t>(waiting_.size()));
  for (int64_t n = 0; n < starting; ++n) {
    const int64_t i = waiting_[static_cast<size_t>(n)];
    RETURN_IF_ERROR(open_chunk(i, pool_.acquire()));
  }
  permits_ -= starting;
  waiting_.erase(waiting_.begin(), waiting_.begin() + starting);
  progress |= starting > 0;
  return {};
}

void RolloutWorker::want(int64_t i, bool action) {
  if (ready_.empty()) ready_since_ = clock_.now();
  want_action_[static_cast<size_t>(i)] = action ? 1 : 0;
  ready_.push_back(i);
}

std::unique_ptr<RolloutWorker::Call> RolloutWorker::blank_call() {
  if (!spare_.empty()) {
    auto call = std::move(spare_.back());
    spare_.pop_back();
    return call;
  }
  auto call = std::make_unique<Call>();
  call->request.rows = Batch(Observation::schema(ring_.spec().observation), spec_.ring);
  call->response.rows = Batch(Action::schema(ring_.spec().action.tensor()), spec_.ring);
  return call;
}

bool RolloutWorker::ask(TimeNs now) {
  const auto count = static_cast<int64_t>(ready_.size());
  if (count == 0) return false;
  const bool due = count >= spec_.flush_ready || in_flight_.empty() ||
                   now >= after(ready_since_, spec_.flush_within_us * kMicrosecond);
  if (!due) return false;

  auto call = blank_call();
  Batch& rows = call->request.rows;
  auto* slot_ids = rows.data<int64_t>(fields_ + kSlot);
  auto* draws = rows.data<int64_t>(fields_ + kDraw);
  auto* wants = rows.data<uint8_t>(fields_ + kWant);
  for (int64_t row = 0; row < count; ++row) {
    const int64_t i = ready_[static_cast<size_t>(row)];
    EnvSlot& slot = ring_.slot(i);
    for (int64_t f = 0; f < fields_; ++f) {
      const auto bytes = rows.row_bytes(f);
      std::memcpy(rows.data<char>(f) + row * bytes, ring_.observation(slot, f),
                  static_cast<size_t>(bytes));
    }
    slot_ids[row] = slot.id;
    draws[row] = slot.draws;
    wants[row] = want_action_[static_cast<size_t>(i)];
  }
  call->request.count = count;
  if (!service_.try_ask(call)) {
    spare_.push_back(std::move(call));
    return false;
  }
  for (const int64_t i : ready_) {
    if (want_action_[static_cast<size_t>(i)] != 0) ++ring_.slot(i).draws;
  }
  in_flight_.push_back({next_question_++, std::move(ready_)});
  ready_ = std::move(spare_slots_);
  ready_.clear();
  return true;
}

}  // namespace sluice
