#pragma once
// The only file that knows which CAF this is. Everything else in actors/ uses these names, so a
// move from 0.17 to 1.x changes this file and nothing else.
#include <caf/all.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace sluice::compat {

#ifdef CAF_VERSION_MAJOR
#error "CAF 1.x: give the names below their 1.x meaning"
#endif

/// Signature of a handler that answers with Out...: Answers<In...>::With<Out...>.
template <class... In>
struct Answers {
  template <class... Out>
  using With = typename caf::replies_to<In...>::template with<Out...>;
};
/// Signature of a handler without an answer.
template <class... In>
using Takes = caf::reacts_to<In...>;

template <class Self, class Handle, class... T>
void send(Self* self, const Handle& to, T&&... content) {
  self->send(to, std::forward<T>(content)...);
}
/// From outside the actor system.
template <class Handle, class... T>
void post(const Handle& to, T&&... content) {
  caf::anon_send(to, std::forward<T>(content)...);
}
template <class Self, class Handle, class... T>
void send_later(Self* self, std::chrono::nanoseconds delay, const Handle& to, T&&... content) {
  self->delayed_send(to, delay, std::forward<T>(content)...);
}
/// For requests inside one process, where the end of the other side is always reported.
inline constexpr std::chrono::nanoseconds kNoLimit = std::chrono::hours(24 * 365);

template <class Self, class Handle, class... T>
auto request(Self* self, const Handle& to, std::chrono::nanoseconds within, T&&... content) {
  return self->request(to, within, std::forward<T>(content)...);
}

/// `handler(caf::actor_addr, caf::error)` hears of the end of every actor that `self` watches.
template <class Self, class F>
void on_down(Self* self, F handler) {
  self->set_down_handler([handler](caf::down_msg& down) { handler(down.source, down.reason); });
}
template <class Self, class Handle>
void watch(Self* self, const Handle& whom) {
  self->monitor(whom);
}
template <class Handle>
void kill(const Handle& whom) {
  caf::anon_send_exit(whom, caf::exit_reason::kill);
}

/// Ends an actor in order.
template <class Handle>
void send_exit(const Handle& whom) {
  caf::anon_send_exit(whom, caf::exit_reason::user_shutdown);
}

/// An exit reason that carries a line of text.
inline caf::error exit_reason(const std::string& text) {
  return caf::make_error(caf::sec::runtime_error, text);
}
/// The line of text in it, or CAF's words when there is none. "" for an exit that is a success.
inline std::string exit_text(const caf::error& reason) {
  if (!reason || reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown) {
    return "";
  }
  const caf::message& context = reason.context();
  if (context.match_elements<std::string>()) return context.get_as<std::string>(0);
  return caf::to_string(reason);
}

}  // namespace sluice::compat
