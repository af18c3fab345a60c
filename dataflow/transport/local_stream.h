#pragma once
#include "dataflow/base/mutex.h"
#include "dataflow/transport/listener.h"
#include "dataflow/transport/stream_queue.h"

#include <memory>
#include <vector>

namespace sluice {

/// A stream inside one process: the queue behind a mutex, and the endpoints to wake.
class LocalStream : public std::enable_shared_from_this<LocalStream> {
 public:
  LocalStream(const StreamSpec& spec, const Clock& clock, MetricRegistry& metrics)
      : queue_(spec, clock, metrics) {}

  std::unique_ptr<RawStreamWriter> open_writer(Waker& waker);
  std::unique_ptr<RawStreamReader> open_reader(Waker& waker);
  /// See LocalTransport::lose().
  void lose(const Waker& waker);
  /// Never changes: no lock.
  [[nodiscard]] const StreamSpec& spec() const noexcept SLUICE_NO_THREAD_SAFETY_ANALYSIS {
    return queue_.spec();
  }

 private:
  class Writer;
  class Reader;
  class Section;

  Mutex mutex_;
  StreamQueue queue_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Writer*> writers_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Reader*> readers_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
