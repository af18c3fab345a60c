#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/result.h"

#include <string>
#include <vector>

namespace sluice::bench {

/// Sends each body to /v1/completions of a server on this machine, each on a connection of its own,
/// and reads the streams with one thread. Returns when the events of each came, in its order.
/// Unavailable when one is refused or cut off.
Result<std::vector<std::vector<TimeNs>>> stream_completions(int port,
                                                            const std::vector<std::string>& bodies);

}  // namespace sluice::bench
