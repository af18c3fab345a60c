// Compiled by check.cmake: as it is it must pass; with UNGUARDED clang must refuse it.
#include "dataflow/base/mutex.h"

namespace sluice {

class Counted {
 public:
  void add() {
#if !defined(UNGUARDED)
    const MutexLock lock(mutex_);
#endif
    ++count_;
  }

 private:
  Mutex mutex_;
  int count_ SLUICE_GUARDED_BY(mutex_) = 0;
};

void use(Counted& counted) { counted.add(); }

}  // namespace sluice
