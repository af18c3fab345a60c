#include "actors/worker_actor.h"

#include "actors/handover.h"

namespace sluice {

WorkerActorState::~WorkerActorState() {
  // From here on the thread must not call back; one that has ended does not care.
  if (setup.loop) setup.loop->abandon();
}

void WorkerActorState::started() {
  handover();
  compat::post(me, msg::started_atom_v);
}

void WorkerActorState::saved(int64_t ticket, const Status& status) {
  handover();
  compat::post(me, msg::saved_atom_v, ticket, status.ok() ? std::string() : status.to_string());
}

void WorkerActorState::ended(const Status& status) {
  handover();
  compat::post(me, msg::ended_atom_v, static_cast<int32_t>(status.code()), status.message());
}

WorkerEvents::behavior_type worker_actor(WorkerEvents::stateful_pointer<WorkerActorState> self,
                                         WorkerSetup setup) {
  self->state.setup = std::move(setup);
  self->state.me = self;
  WorkerActorState& state = self->state;
  return {
      [&state](msg::config_atom, int32_t attempt) { state.attempt = attempt; },
      [&state](msg::start_atom) {
        handover();
        state.setup.loop->start(state, state.attempt);
      },
      [&state](msg::pause_atom) { state.setup.loop->pause(); },
      [&state](msg::resume_atom) { state.setup.loop->resume(); },
      [self, &state](msg::save_atom, int64_t ticket) {
        auto promise = self->make_response_promise<std::string>();
        state.saves.emplace_back(ticket, promise);
        state.setup.loop->checkpoint(ticket);
        return promise;
      },
      [&state](msg::drain_atom) { state.setup.loop->drain(); },
      [&state](msg::stop_atom) { state.setup.loop->stop(); },
      [self, &state](msg::started_atom) {
        compat::send(self, state.setup.supervisor, msg::started_atom_v, state.setup.index,
                     state.attempt);
      },
      [&state](msg::saved_atom, int64_t ticket, const std::string& failure) {
        for (auto it = state.saves.begin(); it != state.saves.end(); ++it) {
          if (it->first != ticket) continue;
          it->second.deliver(failure);
          state.saves.erase(it);
          return;
        }
      },
      [self, &state](msg::ended_atom, int32_t code, const std::string& text) {
        for (auto& [ticket, promise] : state.saves) {
          promise.deliver(code == 0 ? std::string() : text);  // a good end leaves a state, too
        }
        state.saves.clear();
        if (code == 0) {
          self->quit();
        } else {
          self->quit(compat::exit_reason(text));
        }
      },
  };
}

}  // namespace sluice
