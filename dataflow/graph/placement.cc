#include "dataflow/graph/placement.h"

#include "dataflow/graph/graph.h"

#include <algorithm>

namespace sluice {

Placement::Put Placement::put(const std::string& worker, int64_t replicas) {
  Entry& entry = entries_[worker];
  entry.replicas = replicas;
  return Put(&entry);
}

Placement& Placement::together(const std::string& worker, const std::string& host) {
  entries_[worker].with = host;
  return *this;
}

const Placement::Entry* Placement::find(std::string_view worker) const {
  const auto it = entries_.find(std::string(worker));
  return it == entries_.end() ? nullptr : &it->second;
}

std::string Placement::host(std::string_view worker) const {
  std::string at(worker);
  for (size_t hops = 0; hops <= entries_.size(); ++hops) {
    const Entry* entry = find(at);
    if (entry == nullptr || entry->with.empty()) return at;
    at = entry->with;
  }
  return std::string(worker);
}

int64_t Placement::replicas(std::string_view worker) const {
  const Entry* entry = find(host(worker));
  return entry == nullptr || entry->replicas == 0 ? 1 : entry->replicas;
}

int64_t Placement::threads(std::string_view worker) const {
  const Entry* entry = find(worker);
  return entry == nullptr ? 1 : entry->threads;
}

bool Placement::paired(const Graph& graph, std::string_view channel) const {
  const ChannelDecl* decl = graph.channel(channel);
  if (decl == nullptr || decl->kind != ChannelKind::Service) return false;
  const auto servers = graph.users(Verb::Serves, *decl);
  if (servers.empty()) return false;
  const std::string group = host(servers.front());
  const auto in_group = [&](const std::string& worker) { return host(worker) == group; };
  const auto clients = graph.users(Verb::Asks, *decl);
  return replicas(group) > 1 && std::all_of(servers.begin(), servers.end(), in_group) &&
         std::all_of(clients.begin(), clients.end(), in_group);
}

std::string Placement::channel_instance(const Graph& graph, std::string_view channel,
                                        int64_t replica) const {
  std::string instance(channel);
  if (paired(graph, channel)) instance += "#" + std::to_string(replica);
  return instance;
}

int64_t Placement::senders(const Graph& graph, std::string_view channel) const {
  const ChannelDecl* decl = graph.channel(channel);
  if (decl == nullptr) return 0;
  const Verb verb = decl->kind == ChannelKind::Stream    ? Verb::Writes
                    : decl->kind == ChannelKind::Service ? Verb::Asks
                                                         : Verb::Publishes;
  int64_t count = 0;
  for (const auto& worker : graph.users(verb, *decl)) {
    count += paired(graph, channel) ? 1 : replicas(worker);
  }
  return count;
}

}  // namespace sluice
