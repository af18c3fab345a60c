#include "apps/observe/checkpoint_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

namespace sluice {
namespace {

std::map<std::string, Snapshot> state(int64_t step) {
  std::map<std::string, Snapshot> workers;
  workers["rollout"].put_value("step", step);
  workers["trainer"].put("weights", std::string(50'000, static_cast<char>('a' + step % 26)));
  return workers;
}

TEST(CheckpointStore, KillAtAnyMomentLeavesACompleteCheckpoint) {
  const std::string folder = fmt::format("{}checkpoint_kill_{}", ::testing::TempDir(), ::getpid());
  std::filesystem::create_directories(folder);
  CheckpointStore store(folder, "ppo", 2);
  ASSERT_TRUE(store.save(0, state(0), {}).ok());
  int64_t last = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int64_t step = last + 1;; ++step) {
        // Every other step twice, so that replacing one is hit as well.
        if (!store.save(step, state(step), {}).ok()) ::_exit(1);
        if (step % 2 == 0 && !store.save(step, state(step), {}).ok()) ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5'000 + 3'700 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed before it was killed";
    const auto newest = store.list();
    ASSERT_FALSE(newest.empty());
    // The newest one itself must be whole, not only some older one.
    const auto loaded = store.load(newest.front());
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    ASSERT_GE(loaded->step, last);
    for (const auto& [name, snapshot] : state(loaded->step)) {
      ASSERT_EQ(loaded->workers.at(name).blobs(), snapshot.blobs());
    }
    last = loaded->step;
  }
  EXPECT_GT(last, 0) << "nothing was saved: the test proved nothing";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice
