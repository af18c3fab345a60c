#include "dataflow/graph/graph.h"

#include <algorithm>

namespace sluice {

void WorkerDecl::connect(Verb verb, const ChannelDecl& channel) {
  PortDecl* last = nullptr;
  for (auto& port : of(verb)) {
    if (port.kind != channel.kind || port.payload != channel.payload) continue;
    last = &port;
    if (port.channels.size() < port.max) break;
  }
  SLUICE_CHECK(last != nullptr) << "worker '" << name << "' has no port for " << channel.payload;
  last->channels.push_back(&channel);
}

bool WorkerDecl::uses(Verb verb, const ChannelDecl& channel) const {
  return std::any_of(of(verb).begin(), of(verb).end(), [&](const PortDecl& port) {
    return std::find(port.channels.begin(), port.channels.end(), &channel) != port.channels.end();
  });
}

ChannelDecl* Graph::declare(ChannelKind kind, std::string name, std::string payload) {
  auto decl = std::make_unique<ChannelDecl>();
  decl->kind = kind;
  decl->name = std::move(name);
  decl->payload = std::move(payload);
  channels_.push_back(std::move(decl));
  return channels_.back().get();
}

const ChannelDecl* Graph::channel(std::string_view name) const {
  for (const auto& c : channels_) {
    if (c->name == name) return c.get();
  }
  return nullptr;
}

const WorkerDecl* Graph::worker(std::string_view name) const {
  for (const auto& w : workers_) {
    if (w->name == name) return w.get();
  }
  return nullptr;
}

std::vector<std::string> Graph::users(Verb verb, const ChannelDecl& channel) const {
  std::vector<std::string> names;
  for (const auto& w : workers_) {
    if (w->uses(verb, channel)) names.push_back(w->name);
  }
  return names;
}

PortChannels Graph::ports(std::string_view worker_name) const {
  const WorkerDecl* decl = worker(worker_name);
  SLUICE_CHECK(decl != nullptr) << "no worker '" << worker_name << "'";
  PortChannels out;
  for (const Verb verb : kVerbs) {
    for (const auto& port : decl->of(verb)) {
      for (const auto* channel : port.channels) out.of(verb).push_back(channel->name);
      if (port.channels.empty()) out.of(verb).emplace_back();
    }
  }
  return out;
}

Status Graph::check(const Placement& placement) const {
  std::string text;
  for (const auto& problem : problems(placement)) {
    if (!text.empty()) text += '\n';
    text += problem;
  }
  if (text.empty()) return {};
  return {Code::InvalidArgument, std::move(text)};
}

}  // namespace sluice
