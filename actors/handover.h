#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define SLUICE_THREAD_SANITIZER
#endif

#ifdef SLUICE_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace sluice {

/// Tells ThreadSanitizer that what this thread did before is seen by whoever passes here after it.
/// Called where a thread that is no actor gives a message to CAF or gets an answer: CAF orders the
/// two, but its library is not instrumented. Nothing in other builds.
inline void handover() {
#ifdef SLUICE_THREAD_SANITIZER
  static char edge;
  __tsan_acquire(&edge);
  __tsan_release(&edge);
#endif
}

}  // namespace sluice
