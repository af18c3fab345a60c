#include "dataflow/transport/service_queue.h"

#include <utility>

namespace sluice {

ServiceQueue::ServiceQueue(const ServiceSpec& spec, const Clock& clock, MetricRegistry& metrics)
    : spec_(spec),
      clock_(clock),
      metrics_(metrics, spec.name),
      batcher_(spec.policy.batch_limit, spec.policy.batch_within()),
      deadline_(spec.policy.deadline()),
      slots_(static_cast<size_t>(spec.policy.capacity)),
      queue_(spec.policy.capacity) {
  free_.reserve(slots_.size());
  for (int64_t slot = spec.policy.capacity; slot-- > 0;) {
    free_.push_back(static_cast<int32_t>(slot));
  }
}

void ServiceQueue::open_client(Client& client) {
  client.id = next_client_++;
  clients_.push_back(&client);
}

void ServiceQueue::open_server(Server& server) {
  server.id = next_server_++;
  servers_.push_back(&server);
  closed_ = false;
}

bool ServiceQueue::ask(Client& client, std::unique_ptr<AnyExchange>& exchange, WakeList& wakes) {
  client.listener.armed = true;
  const auto backlog = static_cast<int64_t>(client.done.size());
  if (!client.open || free_.empty() || backlog >= spec_.policy.capacity) {
    if (!client.wants_room) ++want_room_;
    client.wants_room = true;
    return false;
  }
  if (maker_ == nullptr) maker_ = exchange->maker();
  const int32_t index = free_.back();
  free_.pop_back();
  Slot& slot = at(index);
  slot.client = &client;
  slot.question = exchange->id = client.next_question++;
  slot.weight = exchange->weight();
  slot.asked = exchange->asked = clock_.now();
  slot.server = kQueued;
  slot.before = client.newest;
  slot.behind = SlotList::kNone;
  (client.newest == SlotList::kNone ? client.oldest : at(client.newest).behind) = index;
  client.newest = index;
  exchange->client = client.id;
  exchange->ticket = index;
  exchange->status = Status();
  slot.exchange = std::move(exchange);
  queue_.push_back(index);
  waiting_weight_ += slot.weight;
  metrics_.asked.add();
  metrics_.waiting.set(static_cast<double>(queue_.size()));
  if (closed_) {
    fail(index, ServiceMetrics::Failure::ServerClosed,
         error(Code::Unavailable, "service '{}' was closed", spec_.name), wakes);
    return true;
  }
  // A server that waits needs to know of the first question (for its timer) and of a full batch.
  const bool first = queue_.size() == 1;
  if (first || batcher_.due(queue_.size(), waiting_weight_, oldest_waiting(), slot.asked)) {
    for (Server* server : servers_) wakes.add(server->listener);
  }
  return true;
}

std::unique_ptr<AnyExchange> ServiceQueue::collect(Client& client, WakeList& wakes) {
  client.listener.armed = true;
  if (client.done.empty()) expire(client, wakes);
  return client.done.empty() ? nullptr : client.done.pop();
}

TimeNs ServiceQueue::next_deadline(const Client& client) const {
  if (client.oldest == SlotList::kNone) return kForever;
  return after(at(client.oldest).asked, deadline_);
}

void ServiceQueue::expire(Client& client, WakeList& wakes) {
  if (deadline_ == kForever || client.oldest == SlotList::kNone) return;
  const TimeNs now = clock_.now();
  while (client.oldest != SlotList::kNone && late(client.oldest, now)) {
    fail_late(client.oldest, wakes);
  }
}

void ServiceQueue::expire_waiting(TimeNs now, WakeList& wakes) {
  while (queue_.size() > 0 && late(queue_.front(), now)) fail_late(queue_.front(), wakes);
}

bool ServiceQueue::late(int32_t slot, TimeNs now) const {
  return deadline_ != kForever && now >= after(at(slot).asked, deadline_);
}

void ServiceQueue::fail_late(int32_t slot, WakeList& wakes) {
  fail(slot, ServiceMetrics::Failure::Deadline,
       error(Code::DeadlineExceeded, "service '{}' gave no answer within {} ms", spec_.name,
             spec_.policy.deadline_ms),
       wakes);
}

void ServiceQueue::remove_client(Client& client, bool clean, WakeList& wakes) {
  if (!std::exchange(client.open, false)) return;
  if (client.wants_room) --want_room_;
  client.wants_room = false;
  while (client.oldest != SlotList::kNone) {
    metrics_.failed(ServiceMetrics::Failure::ClientGone).add();
    const int32_t slot = client.oldest;
    if (at(slot).server == kQueued) unqueue(slot).reset();
    for (Server* server : servers_) {
      if (server->id == at(slot).server) wakes.add(server->listener);
    }
    release(slot, wakes);
  }
  std::erase(clients_, &client);
  if (clean) ++clean_closes_;
  if (!clean) metrics_.lost_clients.add();
  if (ended()) {
    for (Server* server : servers_) wakes.add(server->listener);
  }
}

std::unique_ptr<AnyExchange> ServiceQueue::unqueue(int32_t slot) {
  queue_.erase(slot);
  waiting_weight_ -= at(slot).weight;
  metrics_.waiting.set(static_cast<double>(queue_.size()));
  return std::move(at(slot).exchange);
}

void ServiceQueue::release(int32_t index, WakeList& wakes) {
  Slot& slot = at(index);
  Client& client = *slot.client;
  (slot.before == SlotList::kNone ? client.oldest : at(slot.before).behind) = slot.behind;
  (slot.behind == SlotList::kNone ? client.newest : at(slot.behind).before) = slot.before;
  slot.client = nullptr;
  free_.push_back(index);
  if (want_room_ == 0) return;
  for (Client* waiting : clients_) {
    if (std::exchange(waiting->wants_room, false)) wakes.add(waiting->listener);
  }
  want_room_ = 0;
}

void ServiceQueue::fail(int32_t index, ServiceMetrics::Failure reason, Status status,
                        WakeList& wakes) {
  Slot& slot = at(index);
  // What a server holds cannot be taken away from it: the client gets an empty one in its place.
  auto exchange = slot.server == kQueued ? unqueue(index) : maker_();
  exchange->id = slot.question;
  exchange->client = slot.client->id;
  exchange->asked = slot.asked;
  exchange->status = std::move(status);
  metrics_.failed(reason).add();
  Client& client = *slot.client;
  client.done.push(std::move(exchange));
  release(index, wakes);
  wakes.add(client.listener);
}

TimeNs ServiceQueue::oldest_waiting() const {
  return queue_.size() == 0 ? kForever : at(queue_.front()).asked;
}

TimeNs ServiceQueue::next_due() const {
  return batcher_.due_at(queue_.size(), waiting_weight_, oldest_waiting());
}

void ServiceQueue::take(Server& server, std::vector<std::unique_ptr<AnyExchange>>& batch,
                        WakeList& wakes) {
  batch.clear();
  server.listener.armed = true;
  if (queue_.size() == 0 || !server.open) return;
  const TimeNs now = clock_.now();
  expire_waiting(now, wakes);  // nobody waits for their answers any more
  if (!batcher_.due(queue_.size(), waiting_weight_, oldest_waiting(), now)) return;
  int64_t weight = 0;
  while (queue_.size() > 0 && batcher_.fits(weight, at(queue_.front()).weight)) {
    const int32_t slot = queue_.front();
    weight += at(slot).weight;
    batch.push_back(unqueue(slot));
    at(slot).server = server.id;
  }
  metrics_.batch_size.observe(static_cast<double>(weight));
}

bool ServiceQueue::holds(const Server& server, const AnyExchange& exchange) const {
  const int32_t index = exchange.ticket;
  const bool known = index >= 0 && static_cast<size_t>(index) < slots_.size();
  return known && at(index).client != nullptr && at(index).client->id == exchange.client &&
         at(index).question == exchange.id && at(index).server == server.id;
}

bool ServiceQueue::wanted(const Server& server, const AnyExchange& exchange) const {
  return holds(server, exchange) && !late(exchange.ticket, clock_.now());
}

void ServiceQueue::answer(Server& server, std::unique_ptr<AnyExchange>& exchange, WakeList& wakes) {
  const int32_t index = exchange->ticket;
  if (!holds(server, *exchange)) {
    metrics_.late.add();
    return;
  }
  Client& client = *at(index).client;
  const TimeNs now = clock_.now();
  if (late(index, now)) {
    metrics_.late.add();
    fail_late(index, wakes);
    return;
  }
  if (exchange->status.ok()) {
    metrics_.answered.add();
  } else {
    metrics_.failed(ServiceMetrics::Failure::Server).add();
  }
  metrics_.latency.observe(static_cast<double>(now - at(index).asked) * 1e-9);
  client.done.push(std::move(exchange));
  release(index, wakes);
  wakes.add(client.listener);
}

void ServiceQueue::remove_server(Server& server, bool clean, WakeList& wakes) {
  if (!std::exchange(server.open, false)) return;
  std::erase(servers_, &server);
  if (!clean) metrics_.lost_servers.add();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].client == nullptr || slots_[i].server != server.id) continue;
    fail(static_cast<int32_t>(i),
         clean ? ServiceMetrics::Failure::ServerClosed : ServiceMetrics::Failure::ServerLost,
         error(Code::Unavailable, "the server of '{}' went away with the question", spec_.name),
         wakes);
  }
  if (!clean || !servers_.empty()) return;
  closed_ = true;
  while (queue_.size() > 0) {
    fail(queue_.front(), ServiceMetrics::Failure::ServerClosed,
         error(Code::Unavailable, "service '{}' was closed", spec_.name), wakes);
  }
}

void ServiceQueue::lose(const Waker& waker, WakeList& wakes) {
  const std::vector<Client*> clients = clients_;  // copies: removal changes the lists
  const std::vector<Server*> servers = servers_;
  for (Client* client : clients) {
    if (client->listener.wakes(waker)) remove_client(*client, false, wakes);
  }
  for (Server* server : servers) {
    if (server->listener.wakes(waker)) remove_server(*server, false, wakes);
  }
}

}  // namespace sluice
