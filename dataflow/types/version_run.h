#pragma once
#include "dataflow/base/ids.h"

#include <cstdint>

namespace sluice {

/// Items from `start` on in a sequence were made by `version`.
struct VersionRun {
  int64_t start = 0;
  VersionTag version;
  friend bool operator==(const VersionRun&, const VersionRun&) = default;
};

}  // namespace sluice
