#include "actors/loop_record.h"

namespace sluice {

LoopStatus LoopRecord::status() const {
  LoopStatus status{spec.name, rest, attempt, abandoned, steps_before, 0, last_error};
  if (live()) {
    const LoopProbe probe = loop->probe();
    status.state = probe.state;
    status.steps += probe.steps;
    status.busy = probe.busy;
  }
  return status;
}

void LoopRecord::begin(std::shared_ptr<Loop> fresh, TimeNs now) {
  loop = std::move(fresh);
  beats_ = 0;
  since_ = now;
}

void LoopRecord::retire(LoopState next) {
  if (loop) steps_before += loop->probe().steps;
  loop.reset();
  actor = nullptr;
  rest = next;
}

bool LoopRecord::hangs(const LoopProbe& probe, TimeNs now, TimeNs deadline) {
  if (!probe.stepping || probe.beats != beats_) {
    beats_ = probe.beats;
    since_ = now;
    return false;
  }
  return now - since_ >= deadline;
}

}  // namespace sluice
