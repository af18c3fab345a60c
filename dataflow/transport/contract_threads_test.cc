#include "dataflow/transport/transport_contract.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace sluice::contract {
namespace {

constexpr TimeNs kPatience = 20 * kSecond;

TimeNs give_up() { return after(RealClock::instance().now(), kPatience); }

/// Writes ids from..to-1; crashes (no close) when `lost`.
void write_range(Transport& transport, const StreamSpec& spec, int64_t from, int64_t to,
                 bool lost) {
  Waker waker;
  StreamWriter<Number> out(*transport.open_writer(spec, waker));
  const TimeNs deadline = give_up();
  for (int64_t id = from; id < to;) {
    const Waker::Epoch seen = waker.epoch();
    auto item = number(id);
    if (out.try_put(item, {}) == PutResult::Accepted) {
      ++id;
    } else {
      ASSERT_TRUE(waker.wait(seen, deadline)) << "writer stuck at " << id;
    }
  }
  if (!lost) out.close();
}

/// Reads batches of `n` (then what is left) until the end of the stream.
void read_all(Transport& transport, const StreamSpec& spec, int64_t n, std::vector<int64_t>& got) {
  Waker waker;
  StreamReader<Number> in(*transport.open_reader(spec, waker));
  const TimeNs deadline = give_up();
  while (!in.ended()) {
    const Waker::Epoch seen = waker.epoch();
    auto items = in.try_take(n);
    if (!items.ok()) {
      n = 1;
    } else if (items->empty()) {
      if (!in.ended()) {
        ASSERT_TRUE(waker.wait(seen, deadline)) << "reader stuck";
      }
    } else {
      for (const auto& item : *items) got.push_back(item.value->value);
    }
  }
}

TEST_P(TransportContract, EveryItemIsReadExactlyOnceUnderManyThreads) {
  constexpr int64_t kEach = 2'000;
  StreamPolicy policy;
  policy.capacity = 16;
  const StreamSpec spec{"s", "Number", policy, 3, 1};
  std::vector<std::vector<int64_t>> got(2);
  std::vector<std::thread> threads;
  for (size_t r = 0; r < got.size(); ++r) {
    threads.emplace_back([&, r] { read_all(places_->near(), spec, 3, got[r]); });
  }
  for (int64_t w = 0; w < 3; ++w) {
    threads.emplace_back([&, w] {
      const int64_t from = w * kEach;
      write_range(places_->far(), spec, from, from + kEach / 2, true);
      write_range(places_->far(), spec, from + kEach / 2, from + kEach, false);
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<int64_t> all = got[0];
  all.insert(all.end(), got[1].begin(), got[1].end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 3U * kEach);
  for (int64_t id = 0; id < 3 * kEach; ++id) ASSERT_EQ(all[static_cast<size_t>(id)], id);
}

TEST_P(TransportContract, EveryItemIsReadOnceOrCountedAsDropped) {
  constexpr int64_t kEach = 3'000;
  StreamPolicy policy;
  policy.capacity = 8;
  policy.when_full = WhenFull::DropOldest;
  const StreamSpec spec{"s", "Number", policy, 2, 1};
  std::vector<int64_t> got;
  std::thread a([&] { write_range(places_->far(), spec, 0, kEach, false); });
  std::thread b([&] { write_range(places_->far(), spec, kEach, 2 * kEach, false); });
  read_all(places_->near(), spec, 2, got);
  a.join();
  b.join();
  const std::set<int64_t> distinct(got.begin(), got.end());
  EXPECT_EQ(distinct.size(), got.size()) << "read twice";
  EXPECT_EQ(static_cast<double>(got.size()) + dropped("full"), 2.0 * kEach);
}

using Client = ServiceClient<Number, Number>;
using Server = ServiceServer<Number, Number>;
using Call = Exchange<Number, Number>;

/// Asks `count` questions with up to 8 at a time; asks again those that came back unanswered.
void ask_all(Transport& transport, const ServiceSpec& spec, int64_t count, int64_t& failures) {
  Waker waker;
  Client client(*transport.open_client(spec, waker));
  const TimeNs deadline = give_up();
  std::vector<int64_t> question;  // by id: what was asked
  std::vector<int64_t> again;
  std::vector<int> answered(static_cast<size_t>(count), 0);
  std::unique_ptr<Call> spare;
  int64_t next = 0;
  int64_t done = 0;
  int64_t outstanding = 0;
  while (done < count) {
    const Waker::Epoch seen = waker.epoch();
    bool moved = false;
    while (auto call = client.try_collect()) {
      moved = true;
      --outstanding;
      const int64_t q = question[static_cast<size_t>(call->id)];
      if (call->status.ok()) {
        EXPECT_EQ(call->response.value, 2 * q);
        ++answered[static_cast<size_t>(q)];
        ++done;
      } else {
        again.push_back(q);
        ++failures;
      }
      spare = std::move(call);
    }
    while (outstanding < 8 && (next < count || !again.empty())) {
      const int64_t q = again.empty() ? next : again.back();
      auto call = spare ? std::move(spare) : std::make_unique<Call>();
      call->request = {q, 1};
      if (!client.try_ask(call)) break;
      again.empty() ? static_cast<void>(++next) : again.pop_back();
      question.push_back(q);
      ++outstanding;
      moved = true;
    }
    if (!moved && done < count) {
      ASSERT_TRUE(waker.wait(seen, deadline)) << "client stuck after " << done;
    }
  }
  for (const int times : answered) EXPECT_EQ(times, 1);
  client.close();
}

/// Serves until the service ends, or is lost with a batch in hand after `batches`.
void serve(Transport& transport, const ServiceSpec& spec, int64_t batches) {
  Waker waker;
  Server server(*transport.open_server(spec, waker));
  const TimeNs deadline = give_up();
  std::vector<std::unique_ptr<Call>> batch;
  while (!server.ended()) {
    const Waker::Epoch seen = waker.epoch();
    if (!server.try_take(batch)) {
      if (!server.ended()) {
        ASSERT_TRUE(waker.wait(seen, deadline)) << "server stuck";
      }
      continue;
    }
    if (--batches == 0) return;
    for (auto& call : batch) {
      call->response.value = 2 * call->request.value;
      server.answer(std::move(call));
    }
  }
}

TEST_P(TransportContract, EveryQuestionIsAnsweredExactlyOnceThoughServersAreLost) {
  constexpr int64_t kEach = 1'000;
  ServicePolicy policy;
  policy.batch_limit = 4;
  policy.capacity = 16;
  const ServiceSpec spec{"q", "Number -> Number", policy, 3};
  std::vector<int64_t> failures(3, 0);
  std::vector<std::thread> threads;
  for (size_t c = 0; c < failures.size(); ++c) {
    threads.emplace_back([&, c] { ask_all(places_->far(), spec, kEach, failures[c]); });
  }
  threads.emplace_back([&] { serve(places_->near(), spec, INT64_MAX); });
  threads.emplace_back([&] {
    serve(places_->near(), spec, 1);  // lost with its first batch
    serve(places_->near(), spec, INT64_MAX);
  });
  for (auto& thread : threads) thread.join();
  const int64_t lost = failures[0] + failures[1] + failures[2];
  EXPECT_LE(lost, 4);
  EXPECT_EQ(failed("server_lost"), static_cast<double>(lost));
}

}  // namespace
}  // namespace sluice::contract
