#pragma once
#include "bench/bench.h"

#include <string>
#include <string_view>

namespace sluice::bench {

/// The report as a table with aligned columns, one line per result, notes below.
[[nodiscard]] std::string to_table(std::string_view name, const Report& report);

/// The report as one JSON object: {"name", "version", "cpu", "threads", "results": [{"metric",
/// "value", "unit", "peer", "peer_value", "ratio", "goal", "met", "spread", "note"}]}. What a
/// result has not is null; "spread" is [least, greatest] of the repeats.
[[nodiscard]] std::string to_json(std::string_view name, const Report& report);

/// Model name of the processor, and how many threads it runs at once.
[[nodiscard]] std::string cpu_name();
[[nodiscard]] int cpu_threads();

}  // namespace sluice::bench
