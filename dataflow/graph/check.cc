#include "dataflow/base/nearest.h"
#include "dataflow/graph/graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace sluice {
namespace {

using Problems = std::vector<std::string>;

template <class... A>
void say(Problems& out, fmt::format_string<A...> format, A&&... args) {
  out.push_back(fmt::format(format, std::forward<A>(args)...));
}

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

/// Names become keys ("worker.field") and instances ("act#0"), so these marks are taken.
void check_name(std::string_view what, const std::string& name, Problems& out) {
  const bool fine =
      !name.empty() && name.find_first_of(".#=\" \t\n") == std::string::npos && name != "placement";
  if (!fine) {
    say(out,
        "{} '{}': a name must not be empty or 'placement', nor hold '.', '#', '=', '\"' or a "
        "space",
        what, name);
  }
}

template <class Decls>
void check_names(std::string_view what, const Decls& decls, Problems& out) {
  std::set<std::string> seen;
  for (const auto& decl : decls) {
    check_name(what, decl->name, out);
    if (!seen.insert(decl->name).second) {
      say(out, "two {}s are called '{}': give one another name", what, decl->name);
    }
  }
}

void check_ports(const Graph& graph, const WorkerDecl& w, Problems& out) {
  for (const Verb verb : kVerbs) {
    for (const auto& port : w.of(verb)) {
      const size_t n = port.channels.size();
      if (n < port.min) {
        say(out, "worker '{}' must {} a {} of {}, but .{}() was never called for it", w.name,
            name(verb).substr(0, name(verb) == "publishes" ? 7 : name(verb).size() - 1),
            name(port.kind), port.payload, name(verb));
      }
      if (n > port.max) {
        say(out, "worker '{}' {} {} channels of {}, but takes only {}", w.name, name(verb), n,
            port.payload, port.max);
      }
      std::set<const ChannelDecl*> seen;
      for (const auto* channel : port.channels) {
        const auto& own = graph.channels();
        if (std::none_of(own.begin(), own.end(),
                         [&](const auto& c) { return c.get() == channel; })) {
          say(out, "worker '{}' {} channel '{}', which belongs to another graph", w.name,
              name(verb), channel->name);
        } else if (!seen.insert(channel).second) {
          say(out, "worker '{}' {} channel '{}' twice", w.name, name(verb), channel->name);
        }
      }
    }
  }
}

/// Only what is trained moves the version of a stream on. A buffer passes items on and trains
/// nothing, so rules about versions do not work on what it reads.
void check_buffers(const Graph& graph, const ChannelDecl& c, Problems& out) {
  for (const auto& name : graph.users(Verb::Reads, c)) {
    if (graph.worker(name)->role != "buffer") continue;
    if (c.stream.admit_ahead >= 0) {
      say(out,
          "stream '{}': its admit_ahead {} cannot work, because its reader '{}' is a buffer and "
          "trains nothing: after the first {} items no more would ever be admitted; set it on the "
          "stream that '{}' writes",
          c.name, c.stream.admit_ahead, name, (c.stream.admit_ahead + 1) * c.stream.admit_batch,
          name);
    }
    if (c.stream.max_staleness >= 0) {
      say(out,
          "stream '{}': its max_staleness {} has no meaning, because its reader '{}' is a buffer "
          "and trains nothing; set it on the stream that '{}' writes",
          c.name, c.stream.max_staleness, name, name);
    }
  }
}

void check_channel(const Graph& graph, const Placement& placement, const ChannelDecl& c,
                   Problems& out) {
  const auto with = [&](Verb verb) { return graph.users(verb, c); };
  switch (c.kind) {
    case ChannelKind::Stream:
      if (with(Verb::Writes).empty()) say(out, "stream '{}': nobody writes it", c.name);
      if (with(Verb::Reads).empty()) say(out, "stream '{}': nobody reads it", c.name);
      for (const auto& p : sluice::problems(c.stream)) say(out, "stream '{}': {}", c.name, p);
      check_buffers(graph, c, out);
      break;
    case ChannelKind::Service:
      if (with(Verb::Serves).empty()) say(out, "service '{}': nobody serves it", c.name);
      if (with(Verb::Asks).empty()) say(out, "service '{}': nobody asks it", c.name);
      for (const auto& p : sluice::problems(c.service)) say(out, "service '{}': {}", c.name, p);
      break;
    case ChannelKind::Latest: {
      const auto publishers = with(Verb::Publishes);
      if (publishers.empty()) say(out, "latest '{}': nobody publishes it", c.name);
      if (with(Verb::Follows).empty()) say(out, "latest '{}': nobody follows it", c.name);
      if (publishers.size() > 1) {
        say(out, "latest '{}': {} publish it, but only one worker may", c.name, quoted(publishers));
      }
      for (const auto& w : publishers) {
        if (const int64_t n = placement.replicas(w); n > 1) {
          say(out, "latest '{}': its publisher '{}' has {} replicas, but only one may publish",
              c.name, w, n);
        }
      }
      break;
    }
  }
}

/// One worker at one end of a channel, with what it says about the tensors there.
struct End {
  std::string worker;
  PortSchema schema;
};

std::vector<End> ends(const Graph& graph, Verb verb, const ChannelDecl& c) {
  std::vector<End> found;
  for (const auto& w : graph.workers()) {
    if (!w->schemas) continue;
    const PortSchemas schemas = w->schemas();
    size_t index = 0;
    for (const auto& port : w->of(verb)) {
      if (port.channels.empty()) ++index;
      for (const auto* channel : port.channels) {
        const PortSchema* s = schemas.find(verb, index++);
        if (channel == &c && s != nullptr) found.push_back({w->name, *s});
      }
    }
  }
  return found;
}

/// `verbs`: how to say what the sender and the receiver do, "asks with" and "serves".
void compare(const ChannelDecl& c, const std::string& sender, std::string_view sends,
             const Schema& sent, const std::string& receiver, std::string_view takes,
             const Schema& wanted, Problems& out) {
  for (const auto& field : wanted.fields()) {
    const int64_t at = sent.find(field.name);
    if (at < 0) {
      say(out, "channel '{}': worker '{}' {} no '{}', but worker '{}' {} {}", c.name, sender, sends,
          field.name, receiver, takes, field.to_string());
    } else if (const auto& given = sent.fields()[static_cast<size_t>(at)]; given != field) {
      say(out, "channel '{}': worker '{}' {} {} but worker '{}' {} {}", c.name, sender, sends,
          given.to_string(), receiver, takes, field.to_string());
    }
  }
}

void check_schemas(const Graph& graph, const ChannelDecl& c, Problems& out) {
  if (c.kind == ChannelKind::Service) {
    for (const auto& client : ends(graph, Verb::Asks, c)) {
      for (const auto& server : ends(graph, Verb::Serves, c)) {
        compare(c, client.worker, "asks with", client.schema.item, server.worker, "serves",
                server.schema.item, out);
        compare(c, server.worker, "answers with", server.schema.reply.value_or(Schema{}),
                client.worker, "expects", client.schema.reply.value_or(Schema{}), out);
      }
    }
    return;
  }
  const bool stream = c.kind == ChannelKind::Stream;
  const Verb send = stream ? Verb::Writes : Verb::Publishes;
  const Verb take = stream ? Verb::Reads : Verb::Follows;
  for (const auto& sender : ends(graph, send, c)) {
    for (const auto& receiver : ends(graph, take, c)) {
      compare(c, sender.worker, name(send), sender.schema.item, receiver.worker, name(take),
              receiver.schema.item, out);
      const int64_t sent = sender.schema.rows;
      const int64_t wanted = receiver.schema.rows;
      if (sent > 0 && wanted > 0 && sent != wanted) {
        say(out, "channel '{}': worker '{}' {} items of {} steps but worker '{}' {} {} steps",
            c.name, sender.worker, name(send), sent, receiver.worker, name(take), wanted);
      }
    }
  }
}

void check_placement(const Graph& graph, const Placement& placement, Problems& out) {
  std::vector<std::string> known;
  for (const auto& w : graph.workers()) known.push_back(w->name);
  const auto unknown = [&](const std::string& w) { return graph.worker(w) == nullptr; };

  for (const auto& [worker, entry] : placement.entries()) {
    if (unknown(worker)) {
      say(out, "placement: no worker '{}'{}", worker, did_you_mean(worker, known));
      continue;
    }
    if (entry.replicas < 0) {
      say(out, "placement: worker '{}' cannot have {} replicas", worker, entry.replicas);
    }
    if (entry.threads < 1) {
      say(out, "placement: worker '{}' cannot have {} threads", worker, entry.threads);
    }
    if (entry.with.empty()) continue;
    if (unknown(entry.with)) {
      say(out, "placement: worker '{}' is placed together with '{}', which does not exist{}",
          worker, entry.with, did_you_mean(entry.with, known));
      continue;
    }
    // A worker in a cycle comes back to itself; one that only leads into a cycle is not named.
    std::string at = entry.with;
    for (size_t hops = 0; hops < placement.entries().size() && at != worker; ++hops) {
      const auto next = placement.entries().find(at);
      if (next == placement.entries().end() || next->second.with.empty()) break;
      at = next->second.with;
    }
    if (at == worker) {
      say(out, "placement: worker '{}' is placed together with '{}', which leads back to '{}'",
          worker, entry.with, worker);
    } else if (entry.replicas != 0 && entry.replicas != placement.replicas(worker)) {
      say(out,
          "placement: worker '{}' has {} replicas but runs together with '{}', which has {}: "
          "leave its count out",
          worker, entry.replicas, entry.with, placement.replicas(worker));
    }
  }
}

}  // namespace

std::vector<std::string> Graph::problems(const Placement& placement) const {
  Problems out;
  if (workers_.empty()) say(out, "graph '{}' has no workers", name_);
  check_names("worker", workers_, out);
  check_names("channel", channels_, out);
  for (const auto& w : workers_) {
    check_ports(*this, *w, out);
    if (!w->check) continue;
    Problems own;
    w->check(own);
    for (const auto& problem : own) say(out, "worker '{}': {}", w->name, problem);
  }
  for (const auto& c : channels_) {
    check_channel(*this, placement, *c, out);
    check_schemas(*this, *c, out);
  }
  check_placement(*this, placement, out);
  return out;
}

}  // namespace sluice
