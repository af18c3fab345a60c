#pragma once
// The control messages. They carry only atoms, integers and std::string.
#include "actors/caf_compat.h"

#include <cstdint>
#include <string>

CAF_BEGIN_TYPE_ID_BLOCK(sluice_actors, first_custom_type_id)
CAF_ADD_ATOM(sluice_actors, sluice::msg, start_atom, "start")
CAF_ADD_ATOM(sluice_actors, sluice::msg, pause_atom, "pause")
CAF_ADD_ATOM(sluice_actors, sluice::msg, resume_atom, "resume")
CAF_ADD_ATOM(sluice_actors, sluice::msg, status_atom, "status")
CAF_ADD_ATOM(sluice_actors, sluice::msg, save_atom, "save")
CAF_ADD_ATOM(sluice_actors, sluice::msg, drain_atom, "drain")
CAF_ADD_ATOM(sluice_actors, sluice::msg, stop_atom, "stop")
CAF_ADD_ATOM(sluice_actors, sluice::msg, config_atom, "configure")
CAF_ADD_ATOM(sluice_actors, sluice::msg, started_atom, "started")
CAF_ADD_ATOM(sluice_actors, sluice::msg, saved_atom, "saved")
CAF_ADD_ATOM(sluice_actors, sluice::msg, ended_atom, "ended")
CAF_ADD_ATOM(sluice_actors, sluice::msg, restart_atom, "restart")
CAF_ADD_ATOM(sluice_actors, sluice::msg, check_atom, "check")
CAF_ADD_ATOM(sluice_actors, sluice::msg, stage_atom, "stage")
CAF_ADD_ATOM(sluice_actors, sluice::msg, abandon_atom, "abandon")
CAF_END_TYPE_ID_BLOCK(sluice_actors)

namespace sluice {

/// What every worker actor understands. It ends when its loop has ended: with a normal exit when
/// the workers finished or were stopped, with a line of text as exit reason when the loop failed.
using WorkerControl = caf::typed_actor<
    /// Attempt number of the loop about to start.
    compat::Takes<msg::config_atom, int32_t>, compat::Takes<msg::start_atom>,
    compat::Takes<msg::pause_atom>, compat::Takes<msg::resume_atom>,
    /// Ticket; the loop keeps the snapshots until they are taken. Answers "" or the error.
    compat::Answers<msg::save_atom, int64_t>::With<std::string>, compat::Takes<msg::drain_atom>,
    compat::Takes<msg::stop_atom>>;

/// What a worker actor hears from its loop's thread.
using WorkerEvents = WorkerControl::extend<compat::Takes<msg::started_atom>,
                                           compat::Takes<msg::saved_atom, int64_t, std::string>,
                                           compat::Takes<msg::ended_atom, int32_t, std::string>>;

/// The supervisor of one process. Answers of type std::string: "" is success.
using SupervisorControl = caf::typed_actor<
    compat::Answers<msg::start_atom>::With<std::string>, compat::Takes<msg::pause_atom>,
    compat::Takes<msg::resume_atom>,
    /// All LoopStatus (status_codec.h).
    compat::Answers<msg::status_atom>::With<std::string>,
    /// Ticket; the snapshots lie on the shared shelf.
    compat::Answers<msg::save_atom, int64_t>::With<std::string>,
    /// Grace in nanoseconds; answers when all loops have ended or were abandoned.
    compat::Answers<msg::drain_atom, int64_t>::With<std::string>, compat::Takes<msg::stop_atom>,
    /// From its worker actors: index of the loop and its attempt.
    compat::Takes<msg::started_atom, int32_t, int32_t>,
    /// From itself, delayed.
    compat::Takes<msg::restart_atom, int32_t, int32_t>, compat::Takes<msg::check_atom>,
    compat::Takes<msg::stage_atom, int32_t>, compat::Takes<msg::abandon_atom>>;

}  // namespace sluice
