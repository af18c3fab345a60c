#pragma once
#include "dataflow/base/mutex.h"

#include <functional>
#include <memory>
#include <vector>

namespace sluice {

/// Recycles big objects: acquire() hands out a used one when there is one, and the object comes
/// back by itself when its last reference goes, from whatever thread. The pool may die first.
///
///   Pool<Trajectory> pool([&] { return std::make_unique<Trajectory>(...); });
///   std::shared_ptr<Trajectory> chunk = pool.acquire();
template <class T>
class Pool {
 public:
  explicit Pool(std::function<std::unique_ptr<T>()> make)
      : shared_(std::make_shared<Shared>()), make_(std::move(make)) {}

  [[nodiscard]] std::shared_ptr<T> acquire() {
    std::unique_ptr<T> object;
    {
      const MutexLock lock(shared_->mutex);
      if (!shared_->free.empty()) {
        object = std::move(shared_->free.back());
        shared_->free.pop_back();
      }
    }
    if (!object) object = make_();
    return {object.release(), Return{shared_}};
  }

 private:
  struct Shared {
    Mutex mutex;
    std::vector<std::unique_ptr<T>> free SLUICE_GUARDED_BY(mutex);
  };
  struct Return {
    std::weak_ptr<Shared> shared;
    void operator()(T* object) const {
      std::unique_ptr<T> owned(object);
      if (const auto alive = shared.lock()) {
        const MutexLock lock(alive->mutex);
        alive->free.push_back(std::move(owned));
      }
    }
  };

  std::shared_ptr<Shared> shared_;
  std::function<std::unique_ptr<T>()> make_;
};

}  // namespace sluice
