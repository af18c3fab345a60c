#pragma once
// A supervisor of fake loops on virtual time.
#include "actors/status_codec.h"
#include "actors/supervisor.h"
#include "tests/support/deterministic_actors.h"
#include "tests/support/fake_loops.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class SupervisorFixture : public testing::Test {
 protected:
  void TearDown() override {
    if (!supervisor_) return;
    // Whatever is left is abandoned, so that no actor outlives its system.
    actors_.ask(supervisor_, msg::drain_atom_v, int64_t{0});
    actors_.advance(3600 * kSecond);
    compat::send_exit(supervisor_);
    actors_.settle();
  }

  void spawn(std::vector<LoopSpec> specs, TimeNs step_deadline = 0) {
    const ControlOptions options{
        .clock = actors_.clock(), .metrics = metrics_, .step_deadline = step_deadline};
    supervisor_ = actors_.system().spawn(
        supervisor, SupervisorSetup{std::move(specs), options, board_, loops_.factory()});
    actors_.settle();
  }
  /// Spawns and starts; every loop is running afterwards.
  void start(std::vector<LoopSpec> specs, TimeNs step_deadline = 0) {
    spawn(std::move(specs), step_deadline);
    const auto reply = ask(msg::start_atom_v);
    ASSERT_TRUE(*reply);
    ASSERT_EQ(**reply, "");
    loops_.diary.clear();
  }
  template <class... T>
  DeterministicActors::Reply ask(T... question) {
    return actors_.ask(supervisor_, question...);
  }
  template <class... T>
  void tell(T... content) {
    compat::post(supervisor_, content...);
    actors_.settle();
  }
  void advance(TimeNs by) { actors_.advance(by); }
  /// The attempt under way ends with this error.
  void fail(const std::string& loop, const std::string& text = "boom") {
    loops_.at(loop).end(error(Code::Internal, "{}", text));
    actors_.settle();
  }
  void finish(const std::string& loop) {
    loops_.at(loop).end({});
    actors_.settle();
  }
  LoopStatus status(size_t i) {
    const auto reply = ask(msg::status_atom_v);
    return decode_status(reply->value())->at(i);
  }
  /// What the loops were told since the last call.
  std::vector<std::string> told() { return std::exchange(loops_.diary, {}); }
  int64_t count(const std::string& metric, const std::string& loop) {
    return metrics_.counter(metric, "", {{"worker", loop}}).value();
  }

  using Lines = std::vector<std::string>;
  MetricRegistry metrics_;
  std::shared_ptr<RunBoard> board_ = std::make_shared<RunBoard>();
  FakeLoops loops_;
  DeterministicActors actors_;
  SupervisorControl supervisor_;
};

}  // namespace sluice
