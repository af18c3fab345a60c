#pragma once
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

/// A declared port of a worker and what was connected to it.
struct PortDecl {
  ChannelKind kind = ChannelKind::Stream;
  std::string payload;
  size_t min = 1;
  size_t max = 1;
  std::vector<const ChannelDecl*> channels;
};

/// A worker of a graph, its spec behind plain functions. Owned by the Graph; addresses are stable.
struct WorkerDecl {
  std::string name;
  std::string role;
  std::array<std::vector<PortDecl>, kVerbs.size()> ports;

  std::function<Result<std::unique_ptr<Worker>>(WorkerContext&)> make;
  std::function<void(ConfigBinder&)> bind;               ///< empty: no settings
  std::function<void(std::vector<std::string>&)> check;  ///< empty: nothing to check
  std::function<PortSchemas()> schemas;                  ///< empty: says nothing
  std::function<int64_t()> memory_bytes;                 ///< empty: no estimate; per replica
  std::function<int64_t()> traffic_bytes_per_second;     ///< empty: no estimate; per replica

  [[nodiscard]] std::vector<PortDecl>& of(Verb verb) { return ports[static_cast<size_t>(verb)]; }
  [[nodiscard]] const std::vector<PortDecl>& of(Verb verb) const {
    return ports[static_cast<size_t>(verb)];
  }
  /// Connects a channel to the first port of its type that has room, or else to the last one of its
  /// type, so that check() can report it.
  void connect(Verb verb, const ChannelDecl& channel);
  [[nodiscard]] bool uses(Verb verb, const ChannelDecl& channel) const;
};

/// Compile-time side of the wiring: what a worker spec declares, and the errors a wrong use gives.
namespace wiring {

template <Verb V, class W>
constexpr auto declared_ports() {
  if constexpr (V == Verb::Asks && requires { typename W::Asks; }) {
    return typename W::Asks{};
  } else if constexpr (V == Verb::Serves && requires { typename W::Serves; }) {
    return typename W::Serves{};
  } else if constexpr (V == Verb::Writes && requires { typename W::Writes; }) {
    return typename W::Writes{};
  } else if constexpr (V == Verb::Reads && requires { typename W::Reads; }) {
    return typename W::Reads{};
  } else if constexpr (V == Verb::Publishes && requires { typename W::Publishes; }) {
    return typename W::Publishes{};
  } else if constexpr (V == Verb::Follows && requires { typename W::Follows; }) {
    return typename W::Follows{};
  } else {
    return Ports<>{};
  }
}

template <Verb V, class W>
using DeclaredPorts = decltype(declared_ports<V, W>());

template <class Channel, class P>
struct Accepts;
template <class Channel, class... P>
struct Accepts<Channel, Ports<P...>>
    : std::bool_constant<(std::is_same_v<Channel, typename PortTraits<P>::Channel> || ...)> {};

template <class T>
struct Given {};
template <class P>
struct Expected {};
template <class W>
struct WorkerSpec {};

/// The name of this type in a compiler's message says what was given and what was expected.
template <Verb V, class Spec, class GivenChannel, class ExpectedPorts>
struct ChannelDoesNotFit {
  static_assert(!std::is_same_v<Spec, Spec>,
                "this worker cannot use a channel of this type with this verb: compare Given<> "
                "with Expected<> in the name ChannelDoesNotFit<...>");
  static constexpr bool kFits = true;
};

template <Verb V, class W, class Channel>
constexpr void require_fit() {
  using P = DeclaredPorts<V, W>;
  if constexpr (!Accepts<Channel, P>::value) {
    static_assert(ChannelDoesNotFit<V, WorkerSpec<W>, Given<Channel>, Expected<P>>::kFits);
  }
}

template <Verb V, class... P>
void fill_ports(WorkerDecl& decl, Ports<P...>) {
  static_assert(((PortTraits<P>::Channel::kKind == kind_of(V)) && ...),
                "a port list names a channel of the wrong kind for its verb: Asks and Serves take "
                "Service, Writes and Reads take Stream, Publishes and Follows take Latest");
  constexpr size_t n = sizeof...(P);
  [[maybe_unused]] size_t i = 0;
  [[maybe_unused]] const bool many_is_last =
      ((++i == n || PortTraits<P>::kMax == 1) && ... && true);
  SLUICE_CHECK(many_is_last) << "a Many<> port must be the last of its list";
  (decl.of(V).push_back({PortTraits<P>::Channel::kKind,
                         PortTraits<P>::Channel::payload(),
                         PortTraits<P>::kMin,
                         PortTraits<P>::kMax,
                         {}}),
   ...);
}

/// Puts a spec behind a WorkerDecl. W must have kRole and make(); the rest is optional.
template <class W>
std::unique_ptr<WorkerDecl> declare(std::string name, W spec) {
  static_assert(
      requires(const W& w, WorkerContext& c) {
        { w.make(c) } -> std::same_as<Result<std::unique_ptr<Worker>>>;
      },
      "a worker spec needs: Result<std::unique_ptr<Worker>> make(WorkerContext&) const");
  auto decl = std::make_unique<WorkerDecl>();
  decl->name = std::move(name);
  decl->role = std::string(W::kRole);
  fill_ports<Verb::Asks>(*decl, DeclaredPorts<Verb::Asks, W>{});
  fill_ports<Verb::Serves>(*decl, DeclaredPorts<Verb::Serves, W>{});
  fill_ports<Verb::Writes>(*decl, DeclaredPorts<Verb::Writes, W>{});
  fill_ports<Verb::Reads>(*decl, DeclaredPorts<Verb::Reads, W>{});
  fill_ports<Verb::Publishes>(*decl, DeclaredPorts<Verb::Publishes, W>{});
  fill_ports<Verb::Follows>(*decl, DeclaredPorts<Verb::Follows, W>{});

  auto shared = std::make_shared<W>(std::move(spec));
  decl->make = [shared](WorkerContext& context) { return std::as_const(*shared).make(context); };
  if constexpr (requires(W & w, ConfigBinder & b) { w.bind(b); }) {
    decl->bind = [shared](ConfigBinder& b) { shared->bind(b); };
  }
  if constexpr (requires(const W& w, std::vector<std::string>& p) { w.check(p); }) {
    decl->check = [shared](std::vector<std::string>& p) { std::as_const(*shared).check(p); };
  }
  if constexpr (requires(const W& w) { w.schemas(); }) {
    decl->schemas = [shared] { return std::as_const(*shared).schemas(); };
  }
  if constexpr (requires(const W& w) { w.memory_bytes(); }) {
    decl->memory_bytes = [shared] { return std::as_const(*shared).memory_bytes(); };
  }
  if constexpr (requires(const W& w) { w.traffic_bytes_per_second(); }) {
    decl->traffic_bytes_per_second = [shared] {
      return std::as_const(*shared).traffic_bytes_per_second();
    };
  }
  return decl;
}

}  // namespace wiring

/// Handle of a worker in a graph; says what the worker does with channels. A pointer: cheap to
/// copy, valid while the Graph lives. A verb that the spec W does not declare for that channel type
/// does not compile.
template <class W>
class WorkerHandle {
 public:
  explicit WorkerHandle(WorkerDecl* decl) : decl_(decl) {}

  template <class Channel>
  WorkerHandle asks(Channel channel) const {
    return connect<Verb::Asks>(channel);
  }
  template <class Channel>
  WorkerHandle serves(Channel channel) const {
    return connect<Verb::Serves>(channel);
  }
  template <class Channel>
  WorkerHandle writes(Channel channel) const {
    return connect<Verb::Writes>(channel);
  }
  template <class Channel>
  WorkerHandle reads(Channel channel) const {
    return connect<Verb::Reads>(channel);
  }
  template <class Channel>
  WorkerHandle publishes(Channel channel) const {
    return connect<Verb::Publishes>(channel);
  }
  template <class Channel>
  WorkerHandle follows(Channel channel) const {
    return connect<Verb::Follows>(channel);
  }

  [[nodiscard]] const WorkerDecl& decl() const { return *decl_; }

 private:
  template <Verb V, class Channel>
  WorkerHandle connect(const Channel& channel) const {
    wiring::require_fit<V, W, Channel>();
    if constexpr (wiring::Accepts<Channel, wiring::DeclaredPorts<V, W>>::value) {
      decl_->connect(V, channel.decl());
    }
    return *this;
  }
  WorkerDecl* decl_;
};

}  // namespace sluice
