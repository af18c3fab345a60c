#pragma once
#include "actors/loop.h"

#include <memory>
#include <thread>

namespace sluice {

class LoopCore;

/// The real Loop: owns the thread of one attempt and runs the workers of a LoopSpec round robin.
/// Errors and exceptions of the workers end here, as a Status to the listener. An idle loop waits
/// on its Waker without any polling. All calls from one thread at a time, except that probe() may
/// be called from any.
class LoopHost final : public Loop {
 public:
  /// `waker` is kept alive as long as the thread.
  LoopHost(const LoopSpec& spec, const ControlOptions& options, std::shared_ptr<Waker> waker);
  /// Stops and joins the thread. One that was abandoned is left alone: should it ever return from
  /// its step, it parks for good instead of touching anything that may be gone.
  ~LoopHost() override;

  void start(LoopListener& listener, int attempt) override;
  void pause() override;
  void resume() override;
  void checkpoint(int64_t ticket) override;
  void drain() override;
  void stop() override;
  void abandon() override;
  [[nodiscard]] LoopProbe probe() const override;
  [[nodiscard]] std::string whereabouts() const override;
  Result<Snapshots> take_saved(int64_t ticket) override;
  Result<Snapshots> take_final() override;
  [[nodiscard]] bool stuck() const override;

 private:
  std::shared_ptr<LoopCore> core_;
  std::jthread thread_;
};

}  // namespace sluice
