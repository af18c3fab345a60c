#include "actors/control_plane.h"

#include "actors/handover.h"
#include "actors/loop_host.h"
#include "actors/run_board.h"
#include "actors/status_codec.h"
#include "actors/supervisor.h"
#include "actors/system.h"
#include "dataflow/base/log.h"

#include <atomic>
#include <set>

namespace sluice {
namespace {

constexpr TimeNs kSlack = 2 * kSecond;  // for the answer itself, on a busy machine
constexpr int kSchedulerThreads = 2;    // of the actor system; the loops have their own

}  // namespace

class ControlPlane::Impl {
 public:
  explicit Impl(ControlOptions options) : options_(options), runtime_(kSchedulerThreads) {}

  ~Impl() {
    if (!supervisor_) return;
    compat::send_exit(supervisor_);
    supervisor_ = nullptr;
  }

  /// The supervisor's answer; DeadlineExceeded without one.
  template <class... T>
  Result<std::string> ask(TimeNs within, T&&... question) {
    if (!supervisor_) return error(Code::FailedPrecondition, "the control plane is not started");
    std::optional<std::string> answer;
    std::string failure;
    handover();
    caf::scoped_actor self(runtime_.system());
    compat::request(self.ptr(), supervisor_, std::chrono::nanoseconds(within),
                    std::forward<T>(question)...)
        .receive([&](std::string& text) { answer = std::move(text); },
                 [&](const caf::error& e) { failure = compat::exit_text(e); });
    handover();
    if (answer) return std::move(*answer);
    return error(Code::DeadlineExceeded, "no answer from the supervisor: {}", failure);
  }
  template <class... T>
  void tell(T&&... content) {
    handover();
    if (supervisor_) compat::post(supervisor_, std::forward<T>(content)...);
  }

  Status spawn() {
    std::set<std::string> names;
    for (const LoopSpec& spec : specs_) {
      if (!names.insert(spec.name).second) {
        return error(Code::AlreadyExists, "two loops are named '{}'", spec.name);
      }
    }
    const LoopFactory factory = [options = options_](const LoopSpec& spec,
                                                     std::shared_ptr<Waker> waker) {
      return std::make_shared<LoopHost>(spec, options, std::move(waker));
    };
    supervisor_ = runtime_.system().spawn(
        supervisor, SupervisorSetup{std::move(specs_), options_, board_, factory});
    return {};
  }

  const ControlOptions options_;
  const std::shared_ptr<RunBoard> board_ = std::make_shared<RunBoard>();
  std::vector<LoopSpec> specs_;
  std::atomic<int64_t> last_ticket_{0};
  std::atomic<bool> ended_{false};
  ActorRuntime runtime_;
  SupervisorControl supervisor_;
};

ControlPlane::ControlPlane(ControlOptions options) : impl_(std::make_unique<Impl>(options)) {}

ControlPlane::~ControlPlane() {
  set_waker(nullptr);
  if (impl_->supervisor_ && !impl_->ended_) {
    stop_now();
    if (Status status = shutdown(kSecond); !status.ok()) {
      log(LogLevel::Warning, "{}", status.message());
    }
  }
}

void ControlPlane::add(LoopSpec spec) { impl_->specs_.push_back(std::move(spec)); }

Status ControlPlane::start() {
  if (impl_->supervisor_) return error(Code::FailedPrecondition, "already started");
  RETURN_IF_ERROR(impl_->spawn());
  ASSIGN_OR_RETURN(const std::string failure,
                   impl_->ask(impl_->options_.start_within, msg::start_atom_v));
  return failure.empty() ? Status() : Status(Code::Aborted, failure);
}

void ControlPlane::pause() { impl_->tell(msg::pause_atom_v); }
void ControlPlane::resume() { impl_->tell(msg::resume_atom_v); }
void ControlPlane::stop_now() { impl_->tell(msg::stop_atom_v); }

Result<Snapshots> ControlPlane::checkpoint(TimeNs within) {
  const int64_t ticket = ++impl_->last_ticket_;
  ASSIGN_OR_RETURN(const std::string failure, impl_->ask(within, msg::save_atom_v, ticket));
  if (!failure.empty()) return error(Code::Unavailable, "no checkpoint: {}", failure);
  return impl_->board_->take(ticket);
}

std::vector<LoopStatus> ControlPlane::status(TimeNs within) {
  const Result<std::string> text = impl_->ask(within, msg::status_atom_v);
  if (!text.ok()) return {};
  Result<std::vector<LoopStatus>> loops = decode_status(*text);
  SLUICE_CHECK(loops.ok()) << loops.status().to_string();
  return *std::move(loops);
}

Status ControlPlane::shutdown(TimeNs grace) {
  if (!impl_->supervisor_) return {};
  ASSIGN_OR_RETURN(const std::string failure,
                   impl_->ask(after(grace, kSlack), msg::drain_atom_v, grace));
  impl_->ended_ = true;
  return failure.empty() ? Status() : Status(Code::DeadlineExceeded, failure);
}

std::optional<Status> ControlPlane::outcome() const { return impl_->board_->outcome(); }
int64_t ControlPlane::abandoned() const { return impl_->board_->stuck(); }
void ControlPlane::set_waker(Waker* waker) { impl_->board_->set_waker(waker); }

}  // namespace sluice
