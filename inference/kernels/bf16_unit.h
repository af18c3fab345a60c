#pragma once
#include <cstdint>
#include <string_view>

namespace sluice {

/// Instructions of a CPU that multiply bf16 by bf16 and add in fp32.
enum class Bf16Unit : uint8_t {
  None,
  Avx512,  ///< AVX512-BF16: vectors
  Amx,     ///< AMX-TILE and AMX-BF16: tiles of 16 rows
};

[[nodiscard]] std::string_view name(Bf16Unit unit) noexcept;

/// Whether this CPU has it and the operating system lets this process use it. The first question
/// for Amx asks the kernel for leave to use the tiles' registers.
[[nodiscard]] bool supported(Bf16Unit unit) noexcept;

/// The best supported one. SLUICE_ISA=avx512_bf16 or amx names one; any other value of SLUICE_ISA
/// turns them off. Read once; any thread.
[[nodiscard]] Bf16Unit active_bf16_unit() noexcept;

}  // namespace sluice
