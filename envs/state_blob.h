#pragma once
#include "dataflow/base/result.h"

#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice {

/// The bytes of Env::save(): a line that names the environment, the raw state and a checksum.
[[nodiscard]] std::string pack_bytes(std::string_view env, std::span<const std::byte> state);
/// Takes pack_bytes() apart into `state`. Bytes that are damaged, cut, of another environment or of
/// another size are DataLoss, and `state` is unchanged.
Status unpack_bytes(std::string_view env, std::string_view blob, std::span<std::byte> state);

/// save() in one line. State holds nothing but 8-byte numbers: padding between smaller ones would
/// save bytes that differ from run to run.
template <class State>
[[nodiscard]] std::string pack_state(std::string_view env, const State& state) {
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % 8 == 0 &&
                alignof(State) == 8 && std::endian::native == std::endian::little);
  return pack_bytes(env, std::as_bytes(std::span(&state, 1)));
}

/// load() in one line: on failure `state` is unchanged.
template <class State>
Status unpack_state(std::string_view env, std::string_view blob, State& state) {
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % 8 == 0 &&
                alignof(State) == 8 && std::endian::native == std::endian::little);
  return unpack_bytes(env, blob, std::as_writable_bytes(std::span(&state, 1)));
}

}  // namespace sluice
