#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/trajectory.h"

#include <memory>
#include <string>
#include <utility>

namespace sluice {

/// Moves items from one stream to another, so that a stream with a capacity, sampling and reuse of
/// its own lies between producers and a trainer:
///
///   g.add("buffer", Buffer<Trajectory>{}).reads(fresh).writes(replay);
///
/// The stream it writes may have admission and staleness rules; the one it reads must not, because
/// the buffer trains nothing and so never moves it on. Graph::check() refuses that.
template <class T>
struct Buffer {
  static constexpr std::string_view kRole = "buffer";
  using Reads = Ports<Stream<T>>;
  using Writes = Ports<Stream<T>>;

  int64_t move = 64;  ///< items moved per step at most

  void bind(ConfigBinder& b) {
    b.field("move", move, "items moved per step at most", Range::between(1, 1 << 20));
  }
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Keeps the order and the version span of every item. A full stream downstream holds back the one
/// item in hand, and with it the stream upstream: nothing is lost. When the stream upstream has
/// ended, or a drain has emptied it, the stream downstream is closed; when nobody reads downstream
/// any more, the stream upstream is.
template <class T>
class BufferWorker final : public Worker {
 public:
  BufferWorker(const Buffer<T>& spec, WorkerContext& context, StreamReader<T> in,
               StreamWriter<T> out)
      : move_(spec.move),
        in_(std::move(in)),
        out_(std::move(out)),
        moved_(context.metrics().counter("sluice_buffer_moved_total",
                                         "Items moved from one stream to the next.",
                                         context.labels())),
        lost_(context.metrics().counter("sluice_buffer_dropped_total",
                                        "Items that came to nothing in the buffer's hands.",
                                        context.labels({{"reason", "lost"}}))) {}
  /// A buffer that fails or is stopped may have an item in hand.
  ~BufferWorker() override {
    if (held_.value) lost_.add();
  }

  Result<StepResult> step() override {
    for (int64_t n = 0; n < move_; ++n) {
      if (!held_.value) {
        if (in_.ended()) return finish();
        ASSIGN_OR_RETURN(auto items, in_.try_take(1));
        if (items.empty()) {
          if (draining()) return finish();
          return n > 0 ? StepResult::progress() : StepResult::idle();
        }
        held_ = std::move(items.front());
      }
      switch (out_.try_put(held_.value, held_.info.versions)) {
        case PutResult::Full:
          return n > 0 ? StepResult::progress() : StepResult::idle();
        case PutResult::Closed:  // the stream has counted it
          return finish();
        case PutResult::Accepted:
          moved_.add();
          break;
        case PutResult::Refused:  // the stream has counted it
          break;
      }
      held_ = {};
    }
    return StepResult::progress();
  }

 private:
  StepResult finish() {
    held_ = {};
    in_.close();
    out_.close();
    return StepResult::finished();
  }

  int64_t move_;
  StreamReader<T> in_;
  StreamWriter<T> out_;
  Item<T> held_;  ///< taken, but not passed on yet
  Counter& moved_;
  Counter& lost_;
};

template <class T>
Result<std::unique_ptr<Worker>> Buffer<T>::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto in, context.reader<T>());
  ASSIGN_OR_RETURN(auto out, context.writer<T>());
  return std::unique_ptr<Worker>(
      std::make_unique<BufferWorker<T>>(*this, context, std::move(in), std::move(out)));
}

extern template struct Buffer<Trajectory>;
extern template class BufferWorker<Trajectory>;

}  // namespace sluice
