#pragma once
#include "models/transformer/architecture.h"

/// The families of families.def, each in the file of its name.
namespace sluice::arch {

#define SLUICE_FAMILY(name) const Architecture& name();
#include "models/transformer/arch/families.def"
#undef SLUICE_FAMILY

}  // namespace sluice::arch
