#include "inference/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

SequenceSpec spec(int64_t prompt, int64_t max_length, int64_t first = 0) {
  SequenceSpec s;
  s.tokens.resize(static_cast<size_t>(prompt));
  std::iota(s.tokens.begin(), s.tokens.end(), first);
  s.max_length = max_length;
  return s;
}

SchedulerOptions options(int64_t budget, int64_t long_prefill = 0) {
  SchedulerOptions o;
  o.token_budget = budget;
  o.long_prefill = long_prefill;
  o.max_sequences = 8;
  return o;
}

/// One step in which every row that ends its known tokens gets `token`, or ends at max_length.
StepPlan step(Scheduler& scheduler, int64_t token = 7) {
  StepPlan plan = scheduler.plan();
  scheduler.commit();
  for (const StepRow& row : plan.rows) {
    if (row.last) scheduler.append(row.sequence, token);
  }
  const Status status = scheduler.check();
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

SequenceId submit(Scheduler& scheduler, SequenceSpec s) {
  auto id = scheduler.submit(std::move(s));
  SLUICE_CHECK(id.ok()) << id.status().message();
  return *id;
}

TEST(Scheduler, PromptsComeInChunksAndDecodingGoesOnBesideThem) {
  Scheduler scheduler(options(8), 64, 4);
  const SequenceId a = submit(scheduler, spec(3, 20));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 0, 3, true}));
  const SequenceId b = submit(scheduler, spec(16, 30, 100));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 3, 4, true}, StepRow{b, 0, 7, false}));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 4, 5, true}, StepRow{b, 7, 14, false}));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 5, 6, true}, StepRow{b, 14, 16, true}));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 6, 7, true}, StepRow{b, 16, 17, true}));
}

TEST(Scheduler, LastChunkOfOneTokenIsAnOrdinaryRow) {
  Scheduler scheduler(options(16), 64, 4);
  const SequenceId a = submit(scheduler, spec(17, 20));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 0, 16, false}));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 16, 17, true}));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 17, 18, true}));
}

TEST(Scheduler, LongPromptLeavesRoomForOthers) {
  Scheduler scheduler(options(10, 4), 64, 4);
  const SequenceId a = submit(scheduler, spec(9, 20));
  const SequenceId b = submit(scheduler, spec(9, 20, 100));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 0, 4, false}, StepRow{b, 0, 4, false}));
}

TEST(Scheduler, OldestGroupGoesFirstThenArrival) {
  Scheduler scheduler(options(2), 64, 4);
  SequenceSpec late = spec(1, 4, 10);
  late.order = 5;
  SequenceSpec early = spec(1, 4, 20);
  early.order = 3;
  SequenceSpec urgent = spec(1, 4, 30);
  urgent.order = 9;
  urgent.priority = -1;
  const SequenceId l = submit(scheduler, late);
  const SequenceId e = submit(scheduler, early);
  const SequenceId u = submit(scheduler, urgent);
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{u, 0, 1, true}, StepRow{e, 0, 1, true}));
  scheduler.finish(u);
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{e, 1, 2, true}, StepRow{l, 0, 1, true}));
}

TEST(Scheduler, RefusesWhatCanNeverRunAndServesTheRest) {
  SchedulerOptions o = options(8);
  o.max_length = 100;
  o.max_waiting = 2;
  Scheduler scheduler(o, 4, 4);
  const auto refused = [&](SequenceSpec s) { return scheduler.submit(std::move(s)).status(); };
  EXPECT_EQ(refused(spec(0, 4)).code(), Code::InvalidArgument);
  EXPECT_EQ(refused(spec(2, 101)).code(), Code::InvalidArgument);
  EXPECT_EQ(refused(spec(101, 0)).code(), Code::InvalidArgument);
  EXPECT_EQ(refused(spec(2, 18)).code(), Code::ResourceExhausted);
  EXPECT_THAT(refused(spec(2, 18)).message(), HasSubstr("need 5 blocks of 4, there are 4"));
  EXPECT_EQ(refused(spec(17, 17)).code(), Code::ResourceExhausted);
  SequenceSpec many = spec(2, 4);
  many.samples = 0;
  EXPECT_EQ(refused(many).code(), Code::InvalidArgument);
  many.samples = 9;
  EXPECT_EQ(refused(many).code(), Code::InvalidArgument);
  // 17 tokens fit in 4 blocks: the last is never computed.
  const SequenceId a = submit(scheduler, spec(2, 17));
  submit(scheduler, spec(2, 4, 50));
  EXPECT_EQ(refused(spec(2, 4)).code(), Code::Unavailable);
  EXPECT_THAT(step(scheduler).rows, SizeIs(2));
  scheduler.finish(a);
}

TEST(Scheduler, YoungestIsPreemptedAndComputedAnewWithAllItsTokens) {
  Scheduler scheduler(options(32), 4, 4);
  const SequenceId a = submit(scheduler, spec(4, 13));
  const SequenceId b = submit(scheduler, spec(4, 13, 100));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(step(scheduler).rows, SizeIs(2));
  EXPECT_EQ(scheduler.stats().preemptions, 0);
  EXPECT_EQ(scheduler.tokens(a).size(), 9U);
  // `a` needs its third block: `b` has to give way.
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 8, 9, true}));
  EXPECT_EQ(scheduler.stats().preemptions, 1);
  EXPECT_EQ(scheduler.tokens(b).size(), 9U);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(step(scheduler).rows, SizeIs(1));
  scheduler.finish(a);
  // The first block of `b` is found again.
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{b, 4, 9, true}));
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{b, 9, 10, true}));
}

TEST(Scheduler, UrgentSequencesTakeThePlacesOfTheYoungestOthers) {
  SchedulerOptions o = options(32);
  o.max_sequences = 2;
  Scheduler scheduler(o, 8, 4);
  const SequenceId a = submit(scheduler, spec(4, 20));
  const SequenceId b = submit(scheduler, spec(4, 20, 100));
  EXPECT_THAT(step(scheduler).rows, SizeIs(2));
  SequenceSpec same = spec(4, 20, 200);
  same.order = -1;  // older, but no more urgent: it waits
  const SequenceId c = submit(scheduler, same);
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 4, 5, true}, StepRow{b, 4, 5, true}));
  SequenceSpec urgent = spec(4, 20, 300);
  urgent.priority = -1;
  const SequenceId u = submit(scheduler, urgent);
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 5, 6, true}, StepRow{u, 0, 4, true}));
  EXPECT_EQ(scheduler.stats().preemptions, 1);
  // Room in blocks is made as well as room in number.
  SequenceSpec large = spec(25, 30, 400);
  large.priority = -2;
  const SequenceId l = submit(scheduler, large);
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{l, 0, 25, true}));
  EXPECT_EQ(scheduler.stats().preemptions, 3);
  scheduler.finish(l);
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{u, 4, 5, true}, StepRow{c, 0, 4, true}));
  scheduler.finish(u);
  scheduler.finish(c);
  EXPECT_THAT(step(scheduler).rows, SizeIs(2)) << "the others go on where they were";
  EXPECT_EQ(scheduler.tokens(a).size(), 8U);
  EXPECT_EQ(scheduler.tokens(b).size(), 7U);
}

TEST(Scheduler, SecondPromptComputesOnlyWhatIsNotCached) {
  Scheduler scheduler(options(64), 64, 16);
  const SequenceId a = submit(scheduler, spec(48, 60));
  EXPECT_EQ(step(scheduler).tokens, 48);
  const SequenceId b = submit(scheduler, spec(48, 60));
  EXPECT_THAT(step(scheduler).rows,
              ElementsAre(StepRow{a, 48, 49, true}, StepRow{b, 32, 48, true}));
  EXPECT_EQ(scheduler.cached(b), 32);
  EXPECT_EQ(scheduler.stats().prefix_hits, 32);
  SequenceSpec whole = spec(48, 60);
  whole.find_prefix = false;
  const SequenceId c = submit(scheduler, whole);
  EXPECT_EQ(step(scheduler).rows.back(), (StepRow{c, 0, 48, true}));
  SequenceSpec salted = spec(48, 60);
  salted.salt = "x";
  const SequenceId d = submit(scheduler, salted);
  EXPECT_EQ(step(scheduler).rows.back(), (StepRow{d, 0, 48, true}));
}

TEST(Scheduler, ForkedSequencesRunAtOnceAndShareBlocks) {
  Scheduler scheduler(options(64), 16, 16);
  SequenceSpec s = spec(33, 40);
  s.samples = 4;
  const SequenceId a = submit(scheduler, s);
  const StepPlan plan = scheduler.plan();
  ASSERT_THAT(plan.rows, ElementsAre(StepRow{a, 0, 33, true}));
  scheduler.commit();
  const auto children = scheduler.fork(a, 3);
  EXPECT_EQ(scheduler.space().free_blocks(), 13);
  scheduler.append(a, 1);
  for (const SequenceId child : children) scheduler.append(child, child);
  const StepPlan next = step(scheduler);
  EXPECT_THAT(next.rows, SizeIs(4));
  EXPECT_THAT(next.copies, SizeIs(4));
  EXPECT_EQ(scheduler.space().free_blocks(), 10);
  EXPECT_NE(scheduler.tokens(children[0]), scheduler.tokens(children[1]));
  scheduler.finish(a);
  for (const SequenceId child : children) scheduler.finish(child);
  EXPECT_EQ(scheduler.space().free_blocks(), 16);
  EXPECT_TRUE(scheduler.idle());
}

TEST(Scheduler, SamplesToComeCountAgainstTheLimit) {
  Scheduler scheduler(options(64), 64, 4);
  SequenceSpec s = spec(4, 8);
  s.samples = 5;
  const SequenceId a = submit(scheduler, s);
  s.samples = 4;
  submit(scheduler, s);
  const StepPlan plan = scheduler.plan();
  EXPECT_THAT(plan.rows, SizeIs(1));
  EXPECT_EQ(plan.rows[0].sequence, a);
  scheduler.commit();
}

TEST(Scheduler, RollbackLeavesNoTrace) {
  Scheduler scheduler(options(8), 16, 4);
  const SequenceId a = submit(scheduler, spec(5, 20));
  step(scheduler);
  const SequenceId b = submit(scheduler, spec(16, 30, 100));
  const int32_t free = scheduler.space().free_blocks();
  const StepPlan plan = scheduler.plan();
  EXPECT_THAT(plan.rows, SizeIs(2));
  scheduler.rollback();
  EXPECT_EQ(scheduler.space().free_blocks(), free);
  EXPECT_TRUE(scheduler.check().ok());
  EXPECT_EQ(scheduler.plan().rows, plan.rows);
  scheduler.rollback();
  scheduler.finish(a);
  scheduler.finish(b);
  EXPECT_EQ(scheduler.space().free_blocks(), 16);
}

TEST(Scheduler, DeadlinesAreReportedRunningOrWaiting) {
  Scheduler scheduler(options(4), 16, 4);
  SequenceSpec s = spec(4, 8);
  s.deadline = 100;
  const SequenceId a = submit(scheduler, s);
  s.deadline = 200;
  const SequenceId b = submit(scheduler, s);
  submit(scheduler, spec(4, 8));
  step(scheduler);
  EXPECT_THAT(scheduler.expired(99), IsEmpty());
  EXPECT_THAT(scheduler.expired(100), ElementsAre(a));
  EXPECT_THAT(scheduler.expired(200), ElementsAre(a, b));
}

TEST(Scheduler, NewVersionForgetsPrefixes) {
  for (const bool recompute : {false, true}) {
    Scheduler scheduler(options(64), 64, 4, {1, 1, 1, 1});
    const SequenceId a = submit(scheduler, spec(9, 40));
    step(scheduler);
    scheduler.change_version({1, 1, 2, 2}, recompute);
    EXPECT_TRUE(scheduler.check().ok());
    EXPECT_EQ(scheduler.space().cached_blocks(), 0);
    const StepPlan plan = step(scheduler);
    EXPECT_THAT(plan.rows, ElementsAre(StepRow{a, recompute ? 0 : 9, 10, true}));
    for (int i = 0; i < 8; ++i) step(scheduler);
    // Keys of two versions are never found again.
    EXPECT_EQ(scheduler.space().cached_blocks(), recompute ? 4 : 0);
    const SequenceId b = submit(scheduler, spec(9, 40));
    step(scheduler);
    EXPECT_EQ(scheduler.cached(b), recompute ? 8 : 0);
  }
}

TEST(Scheduler, PausedAdmitsOnlyWhatHasStarted) {
  Scheduler scheduler(options(64), 64, 4);
  const SequenceId a = submit(scheduler, spec(4, 8));
  step(scheduler);
  submit(scheduler, spec(4, 8, 100));
  scheduler.pause(true);
  scheduler.change_version({1, 1, 2, 2}, true);
  EXPECT_EQ(scheduler.started(), 1);
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 0, 5, true}));
  scheduler.finish(a);
  EXPECT_EQ(scheduler.started(), 0);
  EXPECT_THAT(step(scheduler).rows, IsEmpty());
  scheduler.pause(false);
  EXPECT_THAT(step(scheduler).rows, SizeIs(1));
}

TEST(Scheduler, MisuseIsABrokenInvariant) {
  Scheduler scheduler(options(64), 64, 4);
  const SequenceId a = submit(scheduler, spec(4, 8));
  EXPECT_THROW(scheduler.append(a, 1), CheckFailure);
  static_cast<void>(scheduler.plan());
  EXPECT_THROW(static_cast<void>(scheduler.plan()), CheckFailure);
  EXPECT_THROW(scheduler.finish(a), CheckFailure);
  scheduler.commit();
  EXPECT_THROW(scheduler.finish(a + 1), CheckFailure);
}

TEST(Scheduler, DraftsTakeWhatIsLeftOfTheBudget) {
  Scheduler scheduler(options(6), 64, 4);
  const SequenceId a = submit(scheduler, spec(3, 20));
  EXPECT_THAT(scheduler.ready(), IsEmpty());
  step(scheduler);
  EXPECT_THAT(scheduler.ready(), ElementsAre(a));
  scheduler.draft(a, {1, 2, 3, 4, 5, 6, 7, 8});
  StepPlan plan = scheduler.plan();
  EXPECT_THAT(plan.rows, ElementsAre(StepRow{a, 3, 4, true, 5}));
  EXPECT_EQ(plan.tokens, 6);
  EXPECT_THAT(scheduler.drafts(a), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(scheduler.table(a).blocks, SizeIs(3));
  scheduler.commit();
  const std::vector<int64_t> drawn = {1, 2, 9};  // two were right
  scheduler.append(a, drawn);
  EXPECT_THAT(scheduler.tokens(a), ElementsAre(0, 1, 2, 7, 1, 2, 9));
  EXPECT_THAT(scheduler.table(a).blocks, SizeIs(2));
  EXPECT_TRUE(scheduler.check().ok()) << scheduler.check().message();
  // A prompt comes before guesses.
  const SequenceId b = submit(scheduler, spec(4, 20, 50));
  scheduler.draft(a, {1, 2, 3});
  plan = scheduler.plan();
  EXPECT_THAT(plan.rows, ElementsAre(StepRow{a, 6, 7, true, 1}, StepRow{b, 0, 4, true}));
  scheduler.rollback();
  EXPECT_THAT(scheduler.drafts(a), IsEmpty());
  EXPECT_TRUE(scheduler.check().ok());
  EXPECT_THAT(step(scheduler).rows, ElementsAre(StepRow{a, 6, 7, true}, StepRow{b, 0, 4, true}))
      << "guesses are for one plan";
}

TEST(Scheduler, DraftsTakeFreeBlocksOnly) {
  Scheduler scheduler(options(32), 4, 4);
  const SequenceId a = submit(scheduler, spec(3, 12));
  const SequenceId b = submit(scheduler, spec(4, 8, 50));
  step(scheduler);
  scheduler.draft(a, {1, 2, 3, 4, 5, 6, 7, 8});
  const StepPlan plan = scheduler.plan();  // b needs its second block, one is left
  EXPECT_THAT(plan.rows, ElementsAre(StepRow{a, 3, 4, true, 4}, StepRow{b, 4, 5, true}));
  EXPECT_EQ(scheduler.stats().preemptions, 0);
  EXPECT_EQ(scheduler.space().free_blocks(), 0);
  scheduler.commit();
  scheduler.append(a, 7);
  scheduler.append(b, 7);
  EXPECT_EQ(scheduler.space().free_blocks(), 1);
  EXPECT_TRUE(scheduler.check().ok()) << scheduler.check().message();
}

TEST(Scheduler, AcceptedDraftsEnterThePrefixCache) {
  Scheduler scheduler(options(32), 64, 4);
  const SequenceId a = submit(scheduler, spec(3, 20));
  step(scheduler, 3);
  scheduler.draft(a, {4, 5, 6, 7, 8});
  static_cast<void>(scheduler.plan());
  scheduler.commit();
  scheduler.append(a, std::vector<int64_t>{4, 5, 6, 7, 8, 9});
  step(scheduler, 10);
  scheduler.finish(a);
  const SequenceId b = submit(scheduler, spec(12, 20));
  EXPECT_THAT(scheduler.plan().rows, ElementsAre(StepRow{b, 8, 12, true}));
  scheduler.commit();
}

}  // namespace
}  // namespace sluice
