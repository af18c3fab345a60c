#pragma once

namespace sluice {

/// One turn of a spin loop: tells the core that this thread only waits for another one.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace sluice
