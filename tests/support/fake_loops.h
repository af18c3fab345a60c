#pragma once
// For tests of the supervisor: loops without threads that do what the test says.
#include "actors/supervisor.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice {

/// One attempt of a loop. Obeys at once unless told otherwise, and notes every call in `diary`.
class FakeLoop final : public Loop {
 public:
  /// What a loop does for itself; the rest is up to the test.
  struct Manners {
    bool starts = true;
    bool drains = true;
    bool stops = true;
    bool saves = true;
    bool throws_on_pause = false;
  };

  FakeLoop(std::string name, Manners manners, std::vector<std::string>& diary)
      : name_(std::move(name)), manners_(manners), diary_(diary) {}

  void start(LoopListener& listener, int attempt) override {
    note(fmt::format("start {}", attempt));
    listener_ = &listener;
    if (manners_.starts) make();
  }
  void pause() override {
    note("pause");
    if (manners_.throws_on_pause) throw std::runtime_error("a defect");
    probe_.state = LoopState::Paused;
  }
  void resume() override {
    note("resume");
    probe_.state = LoopState::Running;
  }
  void checkpoint(int64_t ticket) override {
    note(fmt::format("save {}", ticket));
    ticket_ = ticket;
    if (manners_.saves) save({});
  }
  void drain() override {
    note("drain");
    probe_.state = LoopState::Draining;
    if (manners_.drains) end({});
  }
  void stop() override {
    note("stop");
    if (manners_.stops) end({});
  }
  void abandon() override {
    if (listener_ == nullptr) return;
    note("abandon");
    listener_ = nullptr;
    stuck_ = true;
  }
  [[nodiscard]] LoopProbe probe() const override { return probe_; }
  [[nodiscard]] std::string whereabouts() const override { return where_; }
  Result<Snapshots> take_saved(int64_t ticket) override {
    if (ticket != ticket_) return error(Code::Unavailable, "not saved");
    return content_;
  }
  Result<Snapshots> take_final() override { return content_; }
  [[nodiscard]] bool stuck() const override { return stuck_; }

  // What the loop's thread would do.
  void make() {
    probe_.state = LoopState::Running;
    listener_->started();
  }
  void step() {
    ++probe_.beats;
    ++probe_.steps;
  }
  void save(const Status& status) { listener_->saved(ticket_, status); }
  void end(const Status& status) {
    probe_.state = status.ok() ? LoopState::Finished : LoopState::Failed;
    probe_.stepping = false;
    if (listener_ != nullptr) listener_->ended(status);
    listener_ = nullptr;
  }
  /// Inside a step from now on.
  void stepping(bool stepping) { probe_.stepping = stepping; }
  void content(Snapshots content) { content_ = std::move(content); }
  void at(std::string where) { where_ = std::move(where); }
  void hopeless() { probe_.hopeless = true; }

 private:
  void note(const std::string& what) { diary_.push_back(name_ + " " + what); }

  std::string name_;
  Manners manners_;
  std::vector<std::string>& diary_;
  LoopListener* listener_ = nullptr;
  LoopProbe probe_;
  std::string where_;
  int64_t ticket_ = 0;
  Snapshots content_;
  bool stuck_ = false;
};

/// Makes them, and finds the latest attempt by name.
class FakeLoops {
 public:
  LoopFactory factory() {
    return [this](const LoopSpec& spec, std::shared_ptr<Waker> waker) -> std::shared_ptr<Loop> {
      auto loop = std::make_shared<FakeLoop>(spec.name, manners[spec.name], diary);
      Snapshots content;
      content[spec.name].put("who", spec.name);
      loop->content(std::move(content));
      latest_[spec.name] = loop;
      wakers[spec.name].push_back(std::move(waker));
      return loop;
    };
  }
  FakeLoop& at(const std::string& name) { return *latest_.at(name); }

  std::map<std::string, FakeLoop::Manners> manners;
  std::map<std::string, std::vector<std::shared_ptr<Waker>>> wakers;
  std::vector<std::string> diary;

 private:
  std::map<std::string, std::shared_ptr<FakeLoop>> latest_;
};

}  // namespace sluice
