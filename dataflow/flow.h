#pragma once
/// The one header for people who write dataflow programs: graph, placement and payload types.
#include "dataflow/graph/graph.h"
#include "dataflow/graph/placement.h"
#include "dataflow/types/control.h"
#include "dataflow/types/trajectory.h"
#include "dataflow/types/weights.h"

#include <chrono>

namespace sluice {
/// So that within(1ms) needs no further using.
using namespace std::chrono_literals;
}  // namespace sluice
