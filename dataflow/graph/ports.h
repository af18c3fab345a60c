#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/spec.h"
#include "dataflow/graph/channel_decl.h"
#include "dataflow/types/payload.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// What a worker does with a channel.
enum class Verb : uint8_t { Asks, Serves, Writes, Reads, Publishes, Follows };
inline constexpr std::array kVerbs = {Verb::Asks,  Verb::Serves,    Verb::Writes,
                                      Verb::Reads, Verb::Publishes, Verb::Follows};

/// "asks", "serves", ...
[[nodiscard]] std::string_view name(Verb verb) noexcept;
/// The kind of channel that the verb is about.
[[nodiscard]] constexpr ChannelKind kind_of(Verb verb) noexcept {
  if (verb == Verb::Asks || verb == Verb::Serves) return ChannelKind::Service;
  if (verb == Verb::Writes || verb == Verb::Reads) return ChannelKind::Stream;
  return ChannelKind::Latest;
}

/// What a channel's payload is called: "Trajectory", or "Observation -> Action" for a service.
[[nodiscard]] std::string payload_name(std::string_view payload);
[[nodiscard]] std::string payload_name(std::string_view request, std::string_view reply);

/// Handle of a stream: many writers, many readers, bounded. A pointer into its Graph: cheap to
/// copy, valid while the Graph lives (also after it was moved). Setters may come in any order; each
/// returns the handle.
template <class T>
class Stream {
 public:
  static constexpr ChannelKind kKind = ChannelKind::Stream;
  static std::string payload() { return payload_name(PayloadTraits<T>::kName); }

  explicit Stream(ChannelDecl* decl) : decl_(decl) {}
  [[nodiscard]] ChannelDecl& decl() const { return *decl_; }

  /// Items held.
  Stream capacity(int64_t items) const { return set(&StreamPolicy::capacity, items); }
  Stream when_full(WhenFull what) const { return set(&StreamPolicy::when_full, what); }
  Stream sample(Sampling how) const { return set(&StreamPolicy::sampling, how); }
  /// Reads before an item leaves; 0 = it leaves only when pushed out.
  Stream reuse(int64_t reads) const { return set(&StreamPolicy::reuse, reads); }
  Stream min_size(int64_t items) const { return set(&StreamPolicy::min_size, items); }
  Stream ratio(double samples_per_insert, double tolerance) const {
    set(&StreamPolicy::samples_per_insert, samples_per_insert);
    return set(&StreamPolicy::ratio_tolerance, tolerance);
  }
  /// Starts no work that would be more than `eta` versions old when `batch` items a version are
  /// trained on.
  Stream admit_ahead(int64_t eta, int64_t batch) const {
    set(&StreamPolicy::admit_ahead, eta);
    return set(&StreamPolicy::admit_batch, batch);
  }
  Stream max_staleness(int64_t versions, OnStale what = OnStale::Drop) const {
    set(&StreamPolicy::max_staleness, versions);
    return set(&StreamPolicy::on_stale, what);
  }

 private:
  template <class V>
  Stream set(V StreamPolicy::*member, V value) const {
    decl_->stream.*member = value;
    return *this;
  }
  ChannelDecl* decl_;
};

/// For Service::batch(up_to(64), within(1ms)).
struct UpTo {
  int64_t weight;
};
struct Within {
  TimeNs time;
};
[[nodiscard]] constexpr UpTo up_to(int64_t weight) { return {weight}; }
[[nodiscard]] constexpr Within within(std::chrono::nanoseconds time) { return {time.count()}; }

/// Handle of a service: ask, get an answer, batched at the server. As Stream: a cheap pointer.
template <class Req, class Rep>
class Service {
 public:
  static constexpr ChannelKind kKind = ChannelKind::Service;
  static std::string payload() {
    return payload_name(PayloadTraits<Req>::kName, PayloadTraits<Rep>::kName);
  }

  explicit Service(ChannelDecl* decl) : decl_(decl) {}
  [[nodiscard]] ChannelDecl& decl() const { return *decl_; }

  /// A batch is cut when it weighs `limit`, or when its oldest request waited for `wait` (whole
  /// microseconds).
  Service batch(UpTo limit, Within wait = {0}) const {
    set(&ServicePolicy::batch_limit, limit.weight);
    return set(&ServicePolicy::batch_within_us, wait.time / kMicrosecond);
  }
  /// A request unanswered for so long (whole milliseconds, rounded up) fails with
  /// DeadlineExceeded.
  Service deadline(std::chrono::nanoseconds time) const {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
    return set(&ServicePolicy::deadline_ms, static_cast<int64_t>(ms));
  }
  /// Requests held; a full service makes askers wait.
  Service capacity(int64_t requests) const { return set(&ServicePolicy::capacity, requests); }

 private:
  template <class V>
  Service set(V ServicePolicy::*member, V value) const {
    decl_->service.*member = value;
    return *this;
  }
  ChannelDecl* decl_;
};

/// Handle of a latest-value channel: one publisher, newest wins. As Stream: a cheap pointer.
template <class T>
class Latest {
 public:
  static constexpr ChannelKind kKind = ChannelKind::Latest;
  static std::string payload() { return payload_name(PayloadTraits<T>::kName); }

  explicit Latest(ChannelDecl* decl) : decl_(decl) {}
  [[nodiscard]] ChannelDecl& decl() const { return *decl_; }

  /// What becomes of answers under way when newer weights arrive.
  Latest swap(Swap how) const {
    decl_->latest.swap = how;
    return *this;
  }

 private:
  ChannelDecl* decl_;
};

/// The channels that a worker takes with one verb, in port order:
///
///   struct Rollout {
///     using Asks = Ports<Service<Observation, Action>>;            // exactly one
///     using Writes = Ports<Stream<Trajectory>>;
///     using Follows = Ports<Optional<Latest<Weights>>>;            // none or one
///   };
///
/// A port may be Optional<Channel>, and the last one Many<Channel> (one or more) or
/// Optional<Many<Channel>> (any number). A handle goes to the first free port of its type. Endpoint
/// i of a verb is port i; the channels of a Many port at place p are p, p + 1, ...
template <class... P>
struct Ports {};
template <class P>
struct Optional {};
template <class Channel>
struct Many {};

/// Channel type and number of channels that a port takes.
template <class P>
struct PortTraits {
  using Channel = P;
  static constexpr size_t kMin = 1;
  static constexpr size_t kMax = 1;
};
template <class P>
struct PortTraits<Optional<P>> {
  using Channel = typename PortTraits<P>::Channel;
  static constexpr size_t kMin = 0;
  static constexpr size_t kMax = PortTraits<P>::kMax;
};
template <class P>
struct PortTraits<Many<P>> {
  using Channel = P;
  static constexpr size_t kMin = 1;
  static constexpr size_t kMax = std::numeric_limits<size_t>::max();
};

/// Tensors that cross one port. A sender lists what it sends; a receiver lists what it needs, and
/// ignores columns that it did not list.
struct PortSchema {
  Verb verb = Verb::Writes;
  size_t index = 0;
  Schema item;                  ///< the stream item, the latest value, or the service's request
  std::optional<Schema> reply;  ///< services only
  int64_t rows = 0;             ///< streams only: rows of one item; 0 = any number
};

/// What a worker spec says about the tensors on its ports, so that Graph::check() can compare both
/// ends of a channel before anything starts. Ports that are left out are not compared.
///
///   PortSchemas schemas() const { return PortSchemas{}.asks(0, observation, action); }
class PortSchemas {
 public:
  PortSchemas& asks(size_t i, Schema request, Schema reply) {
    return add({Verb::Asks, i, std::move(request), std::move(reply), 0});
  }
  PortSchemas& serves(size_t i, Schema request, Schema reply) {
    return add({Verb::Serves, i, std::move(request), std::move(reply), 0});
  }
  PortSchemas& writes(size_t i, Schema s, int64_t rows = 0) {
    return add({Verb::Writes, i, std::move(s), {}, rows});
  }
  PortSchemas& reads(size_t i, Schema s, int64_t rows = 0) {
    return add({Verb::Reads, i, std::move(s), {}, rows});
  }
  PortSchemas& publishes(size_t i, Schema s) {
    return add({Verb::Publishes, i, std::move(s), {}, 0});
  }
  PortSchemas& follows(size_t i, Schema s) { return add({Verb::Follows, i, std::move(s), {}, 0}); }

  [[nodiscard]] const PortSchema* find(Verb verb, size_t index) const noexcept;

 private:
  PortSchemas& add(PortSchema s) {
    ports_.push_back(std::move(s));
    return *this;
  }
  std::vector<PortSchema> ports_;
};

}  // namespace sluice
