#pragma once
#include "dataflow/policy/latest_policy.h"
#include "dataflow/policy/service_policy.h"
#include "dataflow/policy/stream_policy.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// The three kinds of edge.
enum class ChannelKind : uint8_t { Stream, Service, Latest };

[[nodiscard]] std::string_view name(ChannelKind kind) noexcept;

/// What a graph knows about one channel. Owned by the Graph at an address that never changes; the
/// handles Stream<T>, Service<Req, Rep> and Latest<T> point to it.
struct ChannelDecl {
  ChannelKind kind = ChannelKind::Stream;
  std::string name;
  std::string payload;    ///< "Trajectory", "Observation -> Action"
  StreamPolicy stream;    ///< used when kind is Stream
  ServicePolicy service;  ///< used when kind is Service
  LatestPolicy latest;    ///< used when kind is Latest
};

}  // namespace sluice
