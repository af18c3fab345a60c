#pragma once

namespace sluice::bench {

/// Seconds of processor time that this process has used, in user and system mode, on all threads.
[[nodiscard]] double processor_seconds();

}  // namespace sluice::bench
