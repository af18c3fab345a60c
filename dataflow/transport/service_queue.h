#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/channel/service.h"
#include "dataflow/policy/batcher.h"
#include "dataflow/policy/slot_list.h"
#include "dataflow/transport/listener.h"
#include "dataflow/transport/ring.h"
#include "dataflow/transport/service_metrics.h"
#include "dataflow/transport/transport.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

/// The state of a service: questions that wait, questions in servers' hands, answers that wait for
/// their client. Every transport keeps one where its servers are. No threads and no waiting: the
/// owner locks, and sends the wake-ups listed.
class ServiceQueue {
 public:
  struct Client {
    explicit Client(Waker& waker) : listener(waker) {}
    Listener listener;
    int64_t id = 0;
    int64_t next_question = 0;
    Ring<std::unique_ptr<AnyExchange>> done;
    int32_t oldest = SlotList::kNone;  ///< outstanding questions, in the order they were asked
    int32_t newest = SlotList::kNone;
    bool open = true;
    bool wants_room = false;
  };
  struct Server {
    explicit Server(Waker& waker) : listener(waker) {}
    Listener listener;
    int64_t id = 0;
    bool open = true;
  };

  ServiceQueue(const ServiceSpec& spec, const Clock& clock, MetricRegistry& metrics);

  void open_client(Client& client);
  bool ask(Client& client, std::unique_ptr<AnyExchange>& exchange, WakeList& wakes);
  std::unique_ptr<AnyExchange> collect(Client& client, WakeList& wakes);
  [[nodiscard]] TimeNs next_deadline(const Client& client) const;
  /// `clean`: counts towards the end of the service.
  void remove_client(Client& client, bool clean, WakeList& wakes);

  void open_server(Server& server);
  void take(Server& server, std::vector<std::unique_ptr<AnyExchange>>& batch, WakeList& wakes);
  [[nodiscard]] TimeNs next_due() const;
  void answer(Server& server, std::unique_ptr<AnyExchange>& exchange, WakeList& wakes);
  [[nodiscard]] bool wanted(const Server& server, const AnyExchange& exchange) const;
  /// `clean`: without another server, everything that waits is failed; else it waits for a new one.
  void remove_server(Server& server, bool clean, WakeList& wakes);
  /// Removes every client and server that wakes `waker`, as lost ones.
  void lose(const Waker& waker, WakeList& wakes);
  [[nodiscard]] bool ended() const noexcept {
    return clean_closes_ >= spec_.clients && clients_.empty() && queue_.size() == 0;
  }
  [[nodiscard]] const ServiceSpec& spec() const noexcept { return spec_; }

 private:
  static constexpr int64_t kQueued = -1;
  struct Slot {
    std::unique_ptr<AnyExchange> exchange;  ///< while it is queued
    Client* client = nullptr;               ///< null: the slot is free
    int64_t question = 0;
    int64_t weight = 0;
    TimeNs asked = 0;
    int64_t server = kQueued;
    int32_t before = SlotList::kNone;  ///< in the client's list
    int32_t behind = SlotList::kNone;
  };

  Slot& at(int32_t slot) { return slots_[static_cast<size_t>(slot)]; }
  [[nodiscard]] const Slot& at(int32_t slot) const { return slots_[static_cast<size_t>(slot)]; }
  std::unique_ptr<AnyExchange> unqueue(int32_t slot);
  void release(int32_t slot, WakeList& wakes);
  void fail(int32_t slot, ServiceMetrics::Failure reason, Status status, WakeList& wakes);
  void expire(Client& client, WakeList& wakes);
  void expire_waiting(TimeNs now, WakeList& wakes);
  void fail_late(int32_t slot, WakeList& wakes);
  [[nodiscard]] bool late(int32_t slot, TimeNs now) const;
  /// Whether the exchange is the one that the slot of its ticket is about.
  [[nodiscard]] bool holds(const Server& server, const AnyExchange& exchange) const;
  [[nodiscard]] TimeNs oldest_waiting() const;

  ServiceSpec spec_;
  const Clock& clock_;
  ServiceMetrics metrics_;
  Batcher batcher_;
  TimeNs deadline_;
  std::vector<Slot> slots_;
  std::vector<int32_t> free_;
  SlotList queue_;
  int64_t waiting_weight_ = 0;
  AnyExchange::Maker maker_ = nullptr;
  std::vector<Client*> clients_;
  std::vector<Server*> servers_;
  int64_t next_client_ = 0;
  int64_t next_server_ = 0;
  int64_t clean_closes_ = 0;
  int64_t want_room_ = 0;
  bool closed_ = false;
};

}  // namespace sluice
