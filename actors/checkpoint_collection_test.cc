#include "actors/checkpoint_collection.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

Snapshots of(std::initializer_list<const char*> workers) {
  Snapshots all;
  for (const char* worker : workers) all[worker].put("who", worker);
  return all;
}

TEST(CheckpointCollection, IsCompleteWithThePartOfEveryLoop) {
  CheckpointCollection parts(5, 2);
  parts.add("loop a", of({"a/0", "a/1"}));
  EXPECT_FALSE(parts.complete());
  parts.add("loop b", of({"b/0"}));
  EXPECT_TRUE(parts.complete());
  EXPECT_EQ(parts.failure(), "");
  EXPECT_EQ(parts.ticket(), 5);
  EXPECT_EQ(parts.take().size(), 3U);
}

TEST(CheckpointCollection, KeepsTheFirstFailureAndWaitsForTheRest) {
  CheckpointCollection parts(1, 3);
  parts.add("a", error(Code::Internal, "first"));
  parts.add("b", error(Code::Internal, "second"));
  EXPECT_FALSE(parts.complete());
  parts.add("c", of({"c"}));
  EXPECT_TRUE(parts.complete());
  EXPECT_EQ(parts.failure(), "worker a: first");
}

TEST(CheckpointCollection, RefusesTwoWorkersOfOneName) {
  CheckpointCollection parts(1, 2);
  parts.add("a", of({"same"}));
  parts.add("b", of({"same"}));
  EXPECT_EQ(parts.failure(), "two workers are named 'same'");
}

TEST(CheckpointCollection, NoLoopsMakeAnEmptyCheckpoint) {
  EXPECT_TRUE(CheckpointCollection(1, 0).complete());
}

}  // namespace
}  // namespace sluice
