#include "dataflow/base/cpu.h"

#include <cstdlib>

namespace sluice {
namespace {

Isa choose() noexcept {
  Isa best = Isa::Plain;
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    if (supported(isa)) best = isa;
  }
  const char* wanted = std::getenv("SLUICE_ISA");
  if (wanted == nullptr) return best;
  for (const Isa isa : {Isa::Plain, Isa::Avx2, Isa::Avx512}) {
    if (name(isa) == wanted && supported(isa)) return isa;
  }
  return best;
}

}  // namespace

std::string_view name(Isa isa) noexcept {
  switch (isa) {
    case Isa::Plain:
      return "plain";
    case Isa::Avx2:
      return "avx2";
    case Isa::Avx512:
      return "avx512";
  }
  return "?";
}

bool supported(Isa isa) noexcept {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::Plain:
      return true;
    case Isa::Avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::Avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("fma");
  }
  return false;
#else
  return isa == Isa::Plain;
#endif
}

Isa active_isa() noexcept {
  static const Isa isa = choose();
  return isa;
}

}  // namespace sluice
