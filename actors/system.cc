#include "actors/system.h"

namespace sluice {

SystemConfig::SystemConfig(int threads) {
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", static_cast<size_t>(threads));
  set("scheduler.max-throughput", static_cast<size_t>(100));
}

ActorRuntime::ActorRuntime(int threads) : config_(threads), system_(config_) {}

}  // namespace sluice
