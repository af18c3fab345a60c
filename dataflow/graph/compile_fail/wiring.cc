// Compiled by check.cmake: as it is it must pass; with WRONG_VERB or WRONG_PAYLOAD it must not.
#include "dataflow/graph/test_specs.h"

namespace sluice::testing {

void wire(Graph& g) {
  auto samples = g.stream<Traj>("samples");
  auto weights = g.latest<Params>("weights");
  auto trainer = g.add("trainer", Trainer{});
#if defined(WRONG_VERB)
  trainer.reads(weights);
#elif defined(WRONG_PAYLOAD)
  trainer.reads(g.stream<Obs>("observations"));
#else
  trainer.reads(samples).publishes(weights);
#endif
}

}  // namespace sluice::testing
