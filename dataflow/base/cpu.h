#pragma once
#include <cstdint>
#include <string_view>

namespace sluice {

/// Which variant of the hand-written kernels runs. Plain is the portable twin that the others are
/// compared with.
enum class Isa : uint8_t { Plain, Avx2, Avx512 };

[[nodiscard]] std::string_view name(Isa isa) noexcept;

/// Whether this CPU (and its operating system) can run the variant.
[[nodiscard]] bool supported(Isa isa) noexcept;

/// The best supported variant, or the one named by the environment variable SLUICE_ISA
/// (plain, avx2, avx512) where it is supported. Read once; any thread.
[[nodiscard]] Isa active_isa() noexcept;

}  // namespace sluice
