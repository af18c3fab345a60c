#include "dataflow/graph/ports.h"

namespace sluice {

std::string_view name(ChannelKind kind) noexcept {
  switch (kind) {
    case ChannelKind::Stream:
      return "stream";
    case ChannelKind::Service:
      return "service";
    case ChannelKind::Latest:
      return "latest";
  }
  return "unknown";
}

std::string_view name(Verb verb) noexcept {
  switch (verb) {
    case Verb::Asks:
      return "asks";
    case Verb::Serves:
      return "serves";
    case Verb::Writes:
      return "writes";
    case Verb::Reads:
      return "reads";
    case Verb::Publishes:
      return "publishes";
    case Verb::Follows:
      return "follows";
  }
  return "unknown";
}

const PortSchema* PortSchemas::find(Verb verb, size_t index) const noexcept {
  for (const auto& port : ports_) {
    if (port.verb == verb && port.index == index) return &port;
  }
  return nullptr;
}

std::string payload_name(std::string_view payload) { return std::string(payload); }

std::string payload_name(std::string_view request, std::string_view reply) {
  return fmt::format("{} -> {}", request, reply);
}

}  // namespace sluice
