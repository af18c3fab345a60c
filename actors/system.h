#pragma once
#include "actors/caf_compat.h"

#include <memory>

namespace sluice {

/// Settings every actor system of ours runs with. The defaults of CAF are wrong for a control
/// plane: unlimited throughput starves other actors, work stealing keeps idle cores busy.
class SystemConfig : public caf::actor_system_config {
 public:
  explicit SystemConfig(int threads);
};

/// Owns the actor system. All actors must have been told to quit before it goes.
class ActorRuntime {
 public:
  explicit ActorRuntime(int threads);
  [[nodiscard]] caf::actor_system& system() noexcept { return system_; }

 private:
  SystemConfig config_;
  caf::actor_system system_;
};

}  // namespace sluice
