#include "workers/weight_preparer.h"

#include "models/transformer/parallel_rows.h"

#include <exception>
#include <memory>

namespace sluice {

WeightPreparer::WeightPreparer() : jobs_(64, own_), done_(1, reader_), thread_([this] { run(); }) {}

WeightPreparer::~WeightPreparer() { stop(); }

void WeightPreparer::start(Task task) {
  SLUICE_CHECK(!pending_) << "weights are being prepared already";
  pending_ = jobs_.try_put([this, task = std::move(task)] {
    Result<PreparedWeights> result = Status();
    try {
      result = task();
    } catch (const std::exception& e) {
      result = error(Code::Internal, "weights cannot be prepared: {}", e.what());
    }
    static_cast<void>(done_.try_put(result));
  });
}

std::optional<Result<PreparedWeights>> WeightPreparer::take() {
  if (!pending_) return std::nullopt;
  auto done = done_.take_all();
  if (done.empty()) return std::nullopt;
  pending_ = false;
  return std::move(done.front());
}

void WeightPreparer::wait(TimeNs deadline) {
  const auto seen = reader_.epoch();
  if (pending_ && done_.size() == 0) reader_.wait(seen, deadline);
}

void WeightPreparer::free(PreparedWeights weights) {
  // std::function copies.
  auto shared = std::make_shared<PreparedWeights>(std::move(weights));
  static_cast<void>(jobs_.try_put([shared = std::move(shared)] {}));
}

void WeightPreparer::stop() {
  jobs_.close();
  stopping_ = true;
  own_.wake();
  if (thread_.joinable()) thread_.join();
}

void WeightPreparer::run() {
  const SerialRows serial;  // the processors are the engine's
  while (true) {
    const auto seen = own_.epoch();
    std::function<void()> job;
    if (jobs_.try_take(job)) {
      job();
    } else if (stopping_) {
      return;
    } else {
      own_.wait(seen, after(RealClock::instance().now(), kSecond));
    }
  }
}

}  // namespace sluice
