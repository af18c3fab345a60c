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
  parts.add(0, "loop a", of({"a/0", "a/1"}));
  EXPECT_FALSE(parts.complete());
  parts.add(1, "loop b", of({"b/0"}));
  EXPECT_TRUE(parts.complete());
  EXPECT_EQ(parts.failure(), "");
  EXPECT_EQ(parts.ticket(), 5);
  EXPECT_EQ(parts.take().size(), 3U);
}

TEST(CheckpointCollection, KeepsTheFirstFailureAndWaitsForTheRest) {
  CheckpointCollection parts(1, 3);
  parts.add(0, "a", error(Code::Internal, "first"));
  parts.add(1, "b", error(Code::Internal, "second"));
  EXPECT_FALSE(parts.complete());
  parts.add(2, "c", of({"c"}));
  EXPECT_TRUE(parts.complete());
  EXPECT_EQ(parts.failure(), "worker a: first");
}

TEST(CheckpointCollection, TheFirstPartOfALoopCounts) {
  CheckpointCollection parts(1, 2);
  EXPECT_TRUE(parts.waits_for(0));
  parts.add(0, "a", of({"a"}));
  EXPECT_FALSE(parts.waits_for(0));
  parts.add(0, "a", error(Code::Internal, "late"));
  EXPECT_FALSE(parts.complete());
  parts.add(1, "b", of({"b"}));
  EXPECT_EQ(parts.failure(), "");
}

TEST(CheckpointCollection, RefusesTwoWorkersOfOneName) {
  CheckpointCollection parts(1, 2);
  parts.add(0, "a", of({"same"}));
  parts.add(1, "b", of({"same"}));
  EXPECT_EQ(parts.failure(), "two workers are named 'same'");
}

TEST(CheckpointCollection, NoLoopsMakeAnEmptyCheckpoint) {
  EXPECT_TRUE(CheckpointCollection(1, 0).complete());
}

}  // namespace
}  // namespace sluice
