#include "actors/loop_host.h"

#include "actors/loop_core.h"

#include <pthread.h>

#include <system_error>

namespace sluice {

LoopHost::LoopHost(const LoopSpec& spec, const ControlOptions& options,
                   std::shared_ptr<Waker> waker)
    : core_(std::make_shared<LoopCore>(spec, options, std::move(waker))) {}

LoopHost::~LoopHost() {
  if (core_->abandoned()) {
    core_->orphan();
  } else {
    core_->request_stop();
  }
}

void LoopHost::start(LoopListener& listener, int attempt) {
  core_->listen(&listener);
  try {
    thread_ = std::jthread([core = core_, attempt] {
      pthread_setname_np(pthread_self(), core->name().substr(0, 15).c_str());
      core->run(attempt);
    });
  } catch (const std::system_error& e) {
    core_->report_end(error(Code::ResourceExhausted, "no thread for the loop: {}", e.what()));
  }
}

void LoopHost::pause() { core_->set_paused(true); }
void LoopHost::resume() { core_->set_paused(false); }
void LoopHost::checkpoint(int64_t ticket) { core_->request_save(ticket); }
void LoopHost::drain() { core_->request_drain(); }
void LoopHost::stop() { core_->request_stop(); }

void LoopHost::abandon() {
  // One that has ended is as good as joined; let the destructor do it.
  if (thread_.joinable() && core_->abandon()) thread_.detach();
}

LoopProbe LoopHost::probe() const { return core_->probe(); }
std::string LoopHost::whereabouts() const { return core_->whereabouts(); }
Result<Snapshots> LoopHost::take_saved(int64_t ticket) { return core_->take_saved(ticket); }
Result<Snapshots> LoopHost::take_final() { return core_->take_final(); }
bool LoopHost::stuck() const { return core_->stuck(); }

}  // namespace sluice
