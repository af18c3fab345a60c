#include "actors/supervisor.h"

namespace sluice {

SupervisorControl::behavior_type supervisor(SupervisorControl::stateful_pointer<Supervisor> self,
                                            SupervisorSetup setup) {
  Supervisor& state = self->state;
  state.init(std::move(setup));
  compat::on_down(self, [&state](const caf::actor_addr& who, const caf::error& reason) {
    state.on_down(who, reason);
  });
  const auto answer = [self] { return self->make_response_promise<std::string>(); };
  return {
      [&state, answer](msg::start_atom) {
        auto promise = answer();
        state.start(promise);
        return promise;
      },
      [&state](msg::pause_atom) { state.pause(true); },
      [&state](msg::resume_atom) { state.pause(false); },
      [&state](msg::status_atom) { return state.status(); },
      [&state, answer](msg::save_atom, int64_t ticket) {
        auto promise = answer();
        state.save(ticket, promise);
        return promise;
      },
      [&state, answer](msg::drain_atom, int64_t grace) {
        auto promise = answer();
        state.drain(grace, promise);
        return promise;
      },
      [&state](msg::stop_atom) { state.stop(); },
      [&state](msg::started_atom, int32_t i, int32_t attempt) { state.on_started(i, attempt); },
      [&state](msg::restart_atom, int32_t i, int32_t attempt) { state.on_restart(i, attempt); },
      [&state](msg::check_atom) { state.on_check(); },
      [&state](msg::stage_atom, int32_t round) { state.on_stage_timeout(round); },
      [&state](msg::abandon_atom) { state.on_grace_over(); },
  };
}

}  // namespace sluice
