#include "dataflow/transport/local_stream.h"

#include <algorithm>
#include <utility>

namespace sluice {

/// Declared by every operation: holds the lock, and on the way out notes who must be woken,
/// unlocks, wakes, and lets dropped payloads go. `self` has just looked and need not be woken.
class SLUICE_SCOPED_CAPABILITY LocalStream::Section {
 public:
  explicit Section(LocalStream& stream, const Listener* self = nullptr)
      SLUICE_ACQUIRE(stream.mutex_) SLUICE_NO_THREAD_SAFETY_ANALYSIS
      : stream_(stream),
        self_(self),
        lock_(stream.mutex_),
        relief_(stream.queue_.relief()) {}
  ~Section() SLUICE_RELEASE();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  LocalStream& stream_;
  const Listener* self_;
  std::vector<std::shared_ptr<const void>> dropped_;  // these two outlive the lock
  WakeList wakes_;
  MutexLock lock_;
  uint64_t relief_;
};

class LocalStream::Writer final : public RawStreamWriter {
 public:
  Writer(std::shared_ptr<LocalStream> stream, Waker& waker)
      : stream_(std::move(stream)), listener_(waker) {
    const Section section(*stream_, &listener_);
    state_ = stream_->queue_.open_writer();
    stream_->writers_.push_back(this);
  }
  ~Writer() override {
    {
      const Section section(*stream_, &listener_);
      stream_->queue_.lose_writer(state_);
      std::erase(stream_->writers_, this);
    }
    listener_.drain();
  }

  PutResult try_put(std::shared_ptr<const void>& value, const VersionSpan& versions) override {
    const Section section(*stream_, &listener_);
    const PutResult result = stream_->queue_.put(state_, value, versions);
    listener_.armed = true;
    return result;
  }
  int64_t admit(int64_t wanted) override {
    const Section section(*stream_, &listener_);
    listener_.armed = true;
    return stream_->queue_.admit(state_, wanted);
  }
  void give_back(int64_t permits) override {
    const Section section(*stream_, &listener_);
    stream_->queue_.give_back(state_, permits);
  }
  [[nodiscard]] bool closed() const override {
    const MutexLock lock(stream_->mutex_);
    return stream_->queue_.reader_closed();
  }
  void close() override {
    const Section section(*stream_, &listener_);
    stream_->queue_.close_writer(state_);
  }

 private:
  friend class Section;
  friend class LocalStream;
  std::shared_ptr<LocalStream> stream_;
  StreamQueue::Writer state_;
  Listener listener_;
};

class LocalStream::Reader final : public RawStreamReader {
 public:
  Reader(std::shared_ptr<LocalStream> stream, Waker& waker)
      : stream_(std::move(stream)), listener_(waker) {
    const Section section(*stream_, &listener_);
    stream_->queue_.open_reader();
    stream_->readers_.push_back(this);
  }
  ~Reader() override {
    {
      const Section section(*stream_, &listener_);
      if (open_) stream_->queue_.lose_reader();
      std::erase(stream_->readers_, this);
    }
    listener_.drain();
  }

  Status try_take(int64_t n, std::vector<AnyItem>& items) override {
    const Section section(*stream_, &listener_);
    items.clear();
    if (!open_) return error(Code::FailedPrecondition, "this reader is closed");
    Status status = stream_->queue_.take(n, items);
    listener_.armed = true;
    wanted_ = items.empty() ? n : 1;
    return status;
  }
  void advance(const VersionTag& current) override {
    const Section section(*stream_, &listener_);
    if (open_) stream_->queue_.advance(current);
  }
  Status recheck(const std::vector<ItemInfo>& taken, std::vector<bool>& keep) override {
    const Section section(*stream_, &listener_);
    return stream_->queue_.recheck(taken, keep);
  }
  [[nodiscard]] bool ended() const override {
    const MutexLock lock(stream_->mutex_);
    return stream_->queue_.ended();
  }
  [[nodiscard]] int64_t depth() const override {
    const MutexLock lock(stream_->mutex_);
    return stream_->queue_.depth();
  }
  void close() override {
    const Section section(*stream_, &listener_);
    if (std::exchange(open_, false)) stream_->queue_.close_reader();
  }

 private:
  friend class Section;
  friend class LocalStream;
  std::shared_ptr<LocalStream> stream_;
  Listener listener_;
  int64_t wanted_ = 1;
  bool open_ = true;
};

LocalStream::Section::~Section() SLUICE_NO_THREAD_SAFETY_ANALYSIS {
  const StreamQueue& queue = stream_.queue_;
  if (queue.relief() != relief_) {
    for (Writer* writer : stream_.writers_) {
      if (&writer->listener_ != self_) wakes_.add(writer->listener_);
    }
  }
  const bool done = queue.writers_done();
  for (Reader* reader : stream_.readers_) {
    if (&reader->listener_ == self_ || !reader->listener_.armed) continue;
    if (done || queue.can_take(reader->wanted_)) wakes_.add(reader->listener_);
  }
  stream_.queue_.swap_dropped(dropped_);
  lock_.unlock();
}

void LocalStream::lose(const Waker& waker) {
  const Section section(*this);
  for (Writer* writer : writers_) {
    if (writer->listener_.wakes(waker)) queue_.lose_writer(writer->state_);
  }
  for (Reader* reader : readers_) {
    if (!reader->listener_.wakes(waker)) continue;
    if (std::exchange(reader->open_, false)) queue_.lose_reader();
  }
}

std::unique_ptr<RawStreamWriter> LocalStream::open_writer(Waker& waker) {
  return std::make_unique<Writer>(shared_from_this(), waker);
}

std::unique_ptr<RawStreamReader> LocalStream::open_reader(Waker& waker) {
  return std::make_unique<Reader>(shared_from_this(), waker);
}

}  // namespace sluice
