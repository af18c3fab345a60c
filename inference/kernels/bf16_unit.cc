#include "inference/kernels/bf16_unit.h"

#include "dataflow/base/cpu.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sluice {
namespace {

#if defined(__x86_64__)

struct CpuidResult {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
};
CpuidResult cpuid(unsigned leaf, unsigned part) {
  CpuidResult r;
  __get_cpuid_count(leaf, part, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(unsigned word, unsigned n) { return ((word >> n) & 1U) != 0; }

/// Which registers the operating system saves: XCR0.
uint64_t saved_registers() {
  if (!bit(cpuid(1, 0).ecx, 27)) return 0;  // no XGETBV
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool has_avx512_bf16() { return supported(Isa::Avx512) && bit(cpuid(7, 1).eax, 5); }

bool has_amx() {
  const CpuidResult features = cpuid(7, 0);
  if (!bit(features.edx, 22) || !bit(features.edx, 24) || !supported(Isa::Avx512)) return false;
  constexpr uint64_t kTiles = uint64_t{3} << 17;  // their configuration and their data
  if ((saved_registers() & kTiles) != kTiles) return false;
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

#else

bool has_avx512_bf16() { return false; }
bool has_amx() { return false; }

#endif

Bf16Unit choose_bf16_unit() {
  const char* wanted = std::getenv("SLUICE_ISA");
  for (const Bf16Unit unit : {Bf16Unit::Amx, Bf16Unit::Avx512}) {
    if ((wanted == nullptr || name(unit) == wanted) && supported(unit)) return unit;
  }
  return Bf16Unit::None;
}

}  // namespace

std::string_view name(Bf16Unit unit) noexcept {
  switch (unit) {
    case Bf16Unit::None:
      return "none";
    case Bf16Unit::Avx512:
      return "avx512_bf16";
    case Bf16Unit::Amx:
      return "amx";
  }
  return "?";
}

bool supported(Bf16Unit unit) noexcept {
  static const bool avx512 = has_avx512_bf16();
  static const bool amx = has_amx();
  return unit == Bf16Unit::None || (unit == Bf16Unit::Avx512 ? avx512 : amx);
}

Bf16Unit active_bf16_unit() noexcept {
  static const Bf16Unit unit = choose_bf16_unit();
  return unit;
}

}  // namespace sluice
