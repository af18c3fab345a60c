#pragma once
#include "dataflow/base/clock.h"

#include <string>

namespace sluice {

/// "60 s", "1500 ms" or "20 us": the largest unit that needs no fraction.
std::string duration_text(TimeNs time);

}  // namespace sluice
