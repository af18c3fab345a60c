#include "dataflow/graph/graph.h"

#include <algorithm>

namespace sluice {
namespace {

std::string duration(TimeNs time) {
  if (time == kForever) return "never";
  if (time % kSecond == 0) return fmt::format("{}s", time / kSecond);
  if (time % kMillisecond == 0) return fmt::format("{}ms", time / kMillisecond);
  if (time % kMicrosecond == 0) return fmt::format("{}us", time / kMicrosecond);
  return fmt::format("{}ns", time);
}

std::string policy(const ChannelDecl& c) {
  if (c.kind == ChannelKind::Latest) return "newest wins";
  if (c.kind == ChannelKind::Service) {
    std::string text = fmt::format("batch {}", c.service.batch_limit);
    if (c.service.batch_within() > 0) text += " within " + duration(c.service.batch_within());
    if (c.service.deadline() != kForever) text += ", deadline " + duration(c.service.deadline());
    return text;
  }
  const StreamPolicy& p = c.stream;
  constexpr std::string_view kFull[] = {"block", "drop oldest", "refuse"};
  constexpr std::string_view kSampling[] = {"fifo", "newest", "uniform"};
  constexpr std::string_view kStale[] = {"drop", "wait", "error"};
  std::string text = fmt::format("capacity {}, {} when full, {}", p.capacity,
                                 kFull[static_cast<size_t>(p.when_full)],
                                 kSampling[static_cast<size_t>(p.sampling)]);
  if (p.reuse != 1) text += fmt::format(", reuse {}", p.reuse);
  if (p.min_size != 1) text += fmt::format(", min size {}", p.min_size);
  if (p.samples_per_insert > 0) {
    text += fmt::format(", ratio {} +- {}", p.samples_per_insert, p.ratio_tolerance);
  }
  if (p.admit_ahead >= 0)
    text += fmt::format(", admit {} x {} ahead", p.admit_ahead, p.admit_batch);
  if (p.max_staleness >= 0) {
    text += fmt::format(", staleness <= {} or {}", p.max_staleness,
                        kStale[static_cast<size_t>(p.on_stale)]);
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string bytes(int64_t n) {
  if (n >= 1 << 20) return fmt::format("{:.1f} MiB", static_cast<double>(n) / (1 << 20));
  if (n >= 1 << 10) return fmt::format("{:.1f} KiB", static_cast<double>(n) / (1 << 10));
  return fmt::format("{} B", n);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nobody" : text;
}

}  // namespace

std::string Graph::dot() const {
  std::string out =
      fmt::format("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", escaped(name_));
  for (const auto& w : workers_) {
    out += fmt::format("  \"{}\" [label=\"{}\\n{}\"];\n", escaped(w->name), escaped(w->name),
                       escaped(w->role));
  }
  for (const auto& c : channels_) {
    const bool stream = c->kind == ChannelKind::Stream;
    const bool service = c->kind == ChannelKind::Service;
    const std::string look = stream    ? "style=solid"
                             : service ? "style=dashed, dir=both"
                                       : "style=dotted, color=blue";
    const Verb from = stream ? Verb::Writes : service ? Verb::Asks : Verb::Publishes;
    const Verb to = stream ? Verb::Reads : service ? Verb::Serves : Verb::Follows;
    for (const auto& a : users(from, *c)) {
      for (const auto& b : users(to, *c)) {
        out += fmt::format("  \"{}\" -> \"{}\" [{}, label=\"{}: {}\\n{}\"];\n", escaped(a),
                           escaped(b), look, escaped(c->name), escaped(c->payload), policy(*c));
      }
    }
  }
  return out + "}\n";
}

std::string Graph::describe(const Placement& placement) const {
  std::string out = fmt::format("graph {}\nworkers\n", name_);
  int64_t memory = 0;
  int64_t traffic = 0;
  for (const auto& w : workers_) {
    const int64_t n = placement.replicas(w->name);
    out += fmt::format("  {} ({}): {} replica{}, {} thread{} each", w->name, w->role, n,
                       n == 1 ? "" : "s", placement.threads(w->name),
                       placement.threads(w->name) == 1 ? "" : "s");
    if (w->memory_bytes) {
      out += ", memory " + bytes(w->memory_bytes()) + " each";
      memory += n * w->memory_bytes();
    }
    if (w->traffic_bytes_per_second) {
      out += ", sends " + bytes(w->traffic_bytes_per_second()) + "/s each";
      traffic += n * w->traffic_bytes_per_second();
    }
    out += '\n';
  }
  out += "loops\n";
  for (const auto& host : workers_) {
    if (placement.host(host->name) != host->name) continue;
    std::vector<std::string> members{host->name};
    for (const auto& w : workers_) {
      if (w != host && placement.host(w->name) == host->name) members.push_back(w->name);
    }
    out += fmt::format("  {} x [{}]\n", placement.replicas(host->name), joined(members));
  }
  out += "channels\n";
  for (const auto& c : channels_) {
    const bool stream = c->kind == ChannelKind::Stream;
    const bool service = c->kind == ChannelKind::Service;
    const Verb from = stream ? Verb::Writes : service ? Verb::Asks : Verb::Publishes;
    const Verb to = stream ? Verb::Reads : service ? Verb::Serves : Verb::Follows;
    out += fmt::format("  {} {} ({}): {} -> {}; {}; local transport{}\n", sluice::name(c->kind),
                       c->name, c->payload, joined(users(from, *c)), joined(users(to, *c)),
                       policy(*c), placement.paired(*this, c->name) ? ", paired by replica" : "");
  }
  if (memory > 0) out += "estimated memory " + bytes(memory) + '\n';
  if (traffic > 0) out += "estimated traffic " + bytes(traffic) + "/s\n";
  return out;
}

}  // namespace sluice
