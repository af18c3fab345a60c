#pragma once
#include "actors/control_plane.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Loop states as they travel inside a control message.
std::string encode_status(const std::vector<LoopStatus>& loops);
/// DataLoss when the text is not what encode_status makes.
Result<std::vector<LoopStatus>> decode_status(std::string_view text);

}  // namespace sluice
