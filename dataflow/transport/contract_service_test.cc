#include "dataflow/transport/transport_contract.h"

#include <gmock/gmock.h>

#include <vector>

namespace sluice::contract {
namespace {

using ::testing::ElementsAre;
using Client = ServiceClient<Number, Number>;
using Server = ServiceServer<Number, Number>;
using Call = Exchange<Number, Number>;
using Batch = std::vector<std::unique_ptr<Call>>;

bool ask(Client& from, int64_t value, int64_t rows = 1) {
  auto call = std::make_unique<Call>();
  call->request = {value, rows};
  return from.try_ask(call);
}

std::vector<int64_t> values(const Batch& batch) {
  std::vector<int64_t> out;
  for (const auto& call : batch) out.push_back(call->request.value);
  return out;
}

Batch take_batch(Server& from, Waker& waker) {
  Batch batch;
  EXPECT_TRUE(eventually(waker, [&] { return from.try_take(batch); }));
  return batch;
}

void answer_all(Server& by, Batch& batch) {
  for (auto& call : batch) {
    call->response.value = 2 * call->request.value;
    by.answer(std::move(call));
  }
  batch.clear();
}

std::unique_ptr<Call> collect(Client& from, Waker& waker) {
  std::unique_ptr<Call> call;
  EXPECT_TRUE(eventually(waker, [&] { return (call = from.try_collect()) != nullptr; }));
  return call;
}

ServicePolicy batches(int64_t limit, int64_t within_us = 0) {
  ServicePolicy policy;
  policy.batch_limit = limit;
  policy.batch_within_us = within_us;
  return policy;
}

TEST_P(TransportContract, AnswersReachTheClientThatAsked) {
  const auto spec = service_spec(batches(8), 2);
  auto serve = server(spec);
  auto a = client(spec);
  auto b = client(spec);
  ASSERT_TRUE(ask(a, 1));
  ASSERT_TRUE(ask(a, 2));
  ASSERT_TRUE(ask(b, 3));
  places_->settle();
  auto batch = take_batch(serve, near_waker_);
  answer_all(serve, batch);
  const auto one = collect(a, far_waker_);
  const auto two = collect(a, far_waker_);
  const auto three = collect(b, far_waker_);
  EXPECT_EQ(one->response.value, 2);
  EXPECT_EQ(one->id, 0);
  EXPECT_EQ(two->response.value, 4);
  EXPECT_EQ(two->id, 1);
  EXPECT_EQ(three->response.value, 6);
  EXPECT_EQ(three->id, 0) << "ids count per client";
  EXPECT_EQ(a.try_collect(), nullptr);
}

TEST_P(TransportContract, BatchIsCutByWeight) {
  const auto spec = service_spec(batches(8, 1'000'000));
  auto serve = server(spec);
  auto from = client(spec);
  ask(from, 0, 3);
  ask(from, 1, 4);
  places_->settle();
  Batch batch;
  EXPECT_FALSE(serve.try_take(batch)) << "neither full nor due";
  ask(from, 2, 3);
  EXPECT_THAT(values(take_batch(serve, near_waker_)), ElementsAre(0, 1)) << "3 + 4 + 3 is over 8";
  EXPECT_FALSE(serve.try_take(batch));
  ask(from, 3, 20);
  EXPECT_THAT(values(take_batch(serve, near_waker_)), ElementsAre(2));
  EXPECT_THAT(values(take_batch(serve, near_waker_)), ElementsAre(3)) << "too heavy, so alone";
}

TEST_P(TransportContract, BatchIsCutByTime) {
  const auto spec = service_spec(batches(8, 5'000));
  auto serve = server(spec);
  auto from = client(spec);
  EXPECT_EQ(serve.next_due(), kForever);
  ask(from, 0);
  places_->settle();
  Batch batch;
  EXPECT_FALSE(serve.try_take(batch));
  EXPECT_NE(serve.next_due(), kForever);
  places_->pass(5 * kMillisecond);
  EXPECT_THAT(values(take_batch(serve, near_waker_)), ElementsAre(0));
  EXPECT_EQ(serve.next_due(), kForever);
}

TEST_P(TransportContract, FullServiceMakesTheAskerWait) {
  ServicePolicy policy = batches(8);
  policy.capacity = 2;
  const auto spec = service_spec(policy);
  auto serve = server(spec);
  auto from = client(spec);
  EXPECT_TRUE(ask(from, 0));
  EXPECT_TRUE(ask(from, 1));
  auto third = std::make_unique<Call>();
  EXPECT_FALSE(from.try_ask(third));
  EXPECT_NE(third, nullptr) << "it stays with the client";
  places_->settle();
  auto batch = take_batch(serve, near_waker_);
  EXPECT_FALSE(from.try_ask(third)) << "questions in a server's hands count";
  answer_all(serve, batch);
  collect(from, far_waker_);
  EXPECT_TRUE(eventually(far_waker_, [&] { return from.try_ask(third); }));
}

TEST_P(TransportContract, DeadlineBringsAnUnreadQuestionBack) {
  ServicePolicy policy = batches(8);
  policy.deadline_ms = 20;
  const auto spec = service_spec(policy);
  auto from = client(spec);
  EXPECT_EQ(from.next_deadline(), kForever);
  ask(from, 5);
  EXPECT_NE(from.next_deadline(), kForever);
  EXPECT_EQ(from.try_collect(), nullptr);
  places_->pass(20 * kMillisecond);
  const auto back = collect(from, far_waker_);
  EXPECT_EQ(back->status.code(), Code::DeadlineExceeded);
  EXPECT_EQ(back->request.value, 5) << "ready to be asked again";
  EXPECT_EQ(from.next_deadline(), kForever);
  auto serve = server(spec);
  Batch batch;
  EXPECT_FALSE(serve.try_take(batch)) << "an expired question is not served";
}

TEST_P(TransportContract, ExpiredQuestionIsNotHandedToAServer) {
  ServicePolicy policy = batches(8);
  policy.deadline_ms = 20;
  const auto spec = service_spec(policy);
  auto serve = server(spec);
  auto from = client(spec);
  ask(from, 5);
  places_->pass(10 * kMillisecond);
  ask(from, 6);
  places_->pass(10 * kMillisecond);
  places_->settle();
  EXPECT_THAT(values(take_batch(serve, near_waker_)), ElementsAre(6)) << "5 is over, 6 is not";
  EXPECT_EQ(failed("deadline"), 1);
  const auto back = collect(from, far_waker_);
  EXPECT_EQ(back->status.code(), Code::DeadlineExceeded);
  EXPECT_EQ(back->request.value, 5) << "ready to be asked again";
  places_->pass(20 * kMillisecond);
  ask(from, 7);
  places_->pass(20 * kMillisecond);
  places_->settle();
  Batch batch;
  EXPECT_FALSE(serve.try_take(batch)) << "all that waits is over";
}

TEST_P(TransportContract, ServiceShowsWhatItDoes) {
  const auto spec = service_spec(batches(4));
  auto serve = server(spec);
  auto from = client(spec);
  for (int64_t i = 0; i < 3; ++i) ask(from, i, 2);
  places_->settle();
  EXPECT_EQ(of_service("asked_total"), 3);
  EXPECT_EQ(of_service("waiting"), 3);
  auto batch = take_batch(serve, near_waker_);
  EXPECT_EQ(of_service("waiting"), 1);
  // Upper bounds: 1 2 4 8 .. ; 2 + 2 weigh 4.
  auto sizes = places_->buckets("sluice_service_batch_size", {{"channel", "q"}});
  ASSERT_EQ(sizes.size(), 15U);
  EXPECT_EQ(sizes[2], 1);
  places_->pass(50 * kMillisecond);
  answer_all(serve, batch);
  places_->settle();
  EXPECT_EQ(of_service("answered_total"), 2);
  // Upper bounds: .. 1e-3 1e-2 1e-1 1 10 100 s.
  const auto latency = places_->buckets("sluice_service_latency_seconds", {{"channel", "q"}});
  ASSERT_EQ(latency.size(), 14U);
  EXPECT_EQ(latency[9], 2);
  batch = take_batch(serve, near_waker_);
  EXPECT_EQ(of_service("waiting"), 0);
  sizes = places_->buckets("sluice_service_batch_size", {{"channel", "q"}});
  EXPECT_EQ(sizes[1], 1) << "the last one weighs 2";
}

TEST_P(TransportContract, ClosedEndsOfAServiceAreNotLost) {
  const auto spec = service_spec(batches(8));
  {
    auto serve = server(spec);
    auto from = client(spec);
    from.close();
    serve.close();
  }
  places_->settle();
  EXPECT_EQ(of_service("lost_clients_total"), 0);
  EXPECT_EQ(of_service("lost_servers_total"), 0);
}

TEST_P(TransportContract, IdleServerThatIsLostIsCounted) {
  const auto spec = service_spec(batches(8));
  { auto lost = server(spec); }
  places_->settle();
  EXPECT_EQ(of_service("lost_servers_total"), 1);
}

TEST_P(TransportContract, LateAnswerIsDiscardedAndCounted) {
  ServicePolicy policy = batches(8);
  policy.deadline_ms = 20;
  const auto spec = service_spec(policy);
  auto serve = server(spec);
  auto from = client(spec);
  ask(from, 5);
  places_->settle();
  auto batch = take_batch(serve, near_waker_);
  places_->pass(20 * kMillisecond);
  const auto back = collect(from, far_waker_);
  EXPECT_EQ(back->status.code(), Code::DeadlineExceeded);
  EXPECT_EQ(back->id, 0);
  answer_all(serve, batch);
  places_->settle();
  EXPECT_EQ(from.try_collect(), nullptr) << "never delivered twice";
  EXPECT_EQ(of_service("late_total"), 1);
  EXPECT_EQ(failed("deadline"), 1);
}

TEST_P(TransportContract, LostServerFailsWhatItHeldAndNothingElse) {
  const auto spec = service_spec(batches(1));
  auto from = client(spec);
  ask(from, 0);
  ask(from, 1);
  {
    auto lost = server(spec);
    EXPECT_THAT(values(take_batch(lost, near_waker_)), ElementsAre(0));
  }
  const auto back = collect(from, far_waker_);
  EXPECT_EQ(back->status.code(), Code::Unavailable);
  EXPECT_EQ(back->id, 0);
  EXPECT_EQ(from.try_collect(), nullptr) << "the other one waits for a new server";
  EXPECT_EQ(failed("server_lost"), 1);
  EXPECT_EQ(of_service("lost_servers_total"), 1);
  auto again = server(spec);
  auto batch = take_batch(again, near_waker_);
  EXPECT_THAT(values(batch), ElementsAre(1));
  answer_all(again, batch);
  EXPECT_EQ(collect(from, far_waker_)->response.value, 2);
}

TEST_P(TransportContract, ClosedServiceFailsQuestionsAtOnce) {
  const auto spec = service_spec(batches(8));
  auto serve = server(spec);
  auto from = client(spec);
  ask(from, 0);
  places_->settle();
  serve.close();
  EXPECT_EQ(collect(from, far_waker_)->status.code(), Code::Unavailable);
  ASSERT_TRUE(ask(from, 1));
  const auto back = collect(from, far_waker_);
  EXPECT_EQ(back->status.code(), Code::Unavailable);
  EXPECT_EQ(back->request.value, 1);
  EXPECT_EQ(failed("server_closed"), 2);
}

TEST_P(TransportContract, ServerCanRefuseAQuestion) {
  const auto spec = service_spec(batches(8));
  auto serve = server(spec);
  auto from = client(spec);
  ask(from, 0);
  auto batch = take_batch(serve, near_waker_);
  batch[0]->status = error(Code::ResourceExhausted, "no memory for it");
  serve.answer(std::move(batch[0]));
  EXPECT_EQ(collect(from, far_waker_)->status.code(), Code::ResourceExhausted);
  EXPECT_EQ(failed("server"), 1);
}

TEST_P(TransportContract, ClosedClientsEndTheServiceAndDropTheirQuestions) {
  const auto spec = service_spec(batches(8), 2);
  auto serve = server(spec);
  auto a = client(spec);
  auto b = client(spec);
  ask(a, 0);
  places_->settle();
  auto held = take_batch(serve, near_waker_);
  ask(a, 1);
  a.close();
  places_->settle();
  answer_all(serve, held);
  Batch batch;
  EXPECT_FALSE(serve.try_take(batch));
  EXPECT_EQ(failed("client_gone"), 2);
  EXPECT_FALSE(serve.ended());
  b.close();
  EXPECT_TRUE(eventually(near_waker_, [&] { return serve.ended(); }));
}

TEST_P(TransportContract, ServerLearnsThatNobodyWaitsForAnAnswer) {
  const auto spec = service_spec(batches(8), 2);
  auto serve = server(spec);
  auto stays = client(spec);
  Batch held;
  {
    auto leaves = client(spec);
    ask(stays, 1);
    ask(leaves, 2);
    places_->settle();
    held = take_batch(serve, near_waker_);
    ASSERT_THAT(values(held), ElementsAre(1, 2));
    EXPECT_TRUE(serve.wanted(*held[0]));
    EXPECT_TRUE(serve.wanted(*held[1]));
    places_->settle();
  }
  EXPECT_TRUE(eventually(near_waker_, [&] { return !serve.wanted(*held[1]); }));
  EXPECT_TRUE(serve.wanted(*held[0]));
  answer_all(serve, held);
  EXPECT_EQ(collect(stays, far_waker_)->response.value, 2);
}

TEST_P(TransportContract, LostClientDoesNotEndTheService) {
  const auto spec = service_spec(batches(8));
  auto serve = server(spec);
  {
    auto lost = client(spec);
    ask(lost, 0);
  }
  places_->settle();
  Batch batch;
  EXPECT_FALSE(serve.try_take(batch)) << "nobody wants the answer any more";
  EXPECT_FALSE(serve.ended());
  EXPECT_EQ(of_service("lost_clients_total"), 1);
  auto again = client(spec);
  ask(again, 1);
  EXPECT_THAT(values(take_batch(serve, near_waker_)), ElementsAre(1));
  again.close();
  EXPECT_TRUE(eventually(near_waker_, [&] { return serve.ended(); }));
}

}  // namespace
}  // namespace sluice::contract
