#pragma once
#include <cstdint>
#include <string_view>

namespace sluice {

/// What a channel needs to know about a payload type. Specialise it beside the type; the name is
/// what messages and graphs print. `weight` is what batch limits count: rows of an observation,
/// tokens of a prompt, 1 by default. A type that may leave the process also gets a codec
/// (dataflow/wire).
template <class T>
struct PayloadTraits {
  static constexpr std::string_view kName = T::kPayloadName;
  static int64_t weight(const T& value) {
    if constexpr (requires { value.weight(); }) {
      return value.weight();
    } else {
      return 1;
    }
  }
};

}  // namespace sluice
