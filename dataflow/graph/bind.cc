#include "dataflow/graph/graph.h"

namespace sluice {
namespace {

/// ConfigBinder::section() wants an object with bind().
struct Bound {
  const std::function<void(ConfigBinder&)>& function;
  void bind(ConfigBinder& b) { function(b); }
};

struct BoundEntry {
  Placement::Entry& entry;
  void bind(ConfigBinder& b) {
    b.field("replicas", entry.replicas, "copies; 0 = as many as its host, or 1",
            Range::between(0, 1e6));
    b.field("threads", entry.threads, "threads for the arithmetic of one copy",
            Range::between(1, 4096));
    b.field("with", entry.with, "runs on the loops of this worker; empty = on its own");
  }
};

}  // namespace

void Graph::bind(ConfigBinder& b) {
  for (const auto& w : workers_) {
    if (!w->bind) continue;
    Bound bound{w->bind};
    b.section(w->name, bound);
  }
  for (const auto& c : channels_) {
    if (c->kind == ChannelKind::Stream) b.section(c->name, c->stream);
    if (c->kind == ChannelKind::Service) b.section(c->name, c->service);
  }
}

void Placement::bind(ConfigBinder& b, const Graph& graph) {
  for (const auto& w : graph.workers()) {
    BoundEntry bound{entries_[w->name]};
    b.section("placement." + w->name, bound);
  }
}

}  // namespace sluice
