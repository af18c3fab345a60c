#include "actors/status_codec.h"

#include <nlohmann/json.hpp>

namespace sluice {

std::string_view name(LoopState state) noexcept {
  switch (state) {
    case LoopState::Configured:
      return "configured";
    case LoopState::Running:
      return "running";
    case LoopState::Paused:
      return "paused";
    case LoopState::Draining:
      return "draining";
    case LoopState::Finished:
      return "finished";
    case LoopState::Failed:
      return "failed";
    case LoopState::Restarting:
      return "restarting";
  }
  return "unknown";
}

std::string encode_status(const std::vector<LoopStatus>& loops) {
  nlohmann::json all = nlohmann::json::array();
  for (const LoopStatus& s : loops) {
    all.push_back({s.name, static_cast<int32_t>(s.state), s.restarts, s.abandoned, s.steps, s.busy,
                   s.last_error});
  }
  // What an exception says need not be UTF-8.
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<LoopStatus>> decode_status(std::string_view text) {
  const auto bad = [] { return error(Code::DataLoss, "malformed status message"); };
  const nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_array()) return bad();
  std::vector<LoopStatus> loops;
  for (const nlohmann::json& row : all) {
    const bool fits = row.is_array() && row.size() == 7 && row[0].is_string() &&
                      row[1].is_number_integer() && row[2].is_number_integer() &&
                      row[3].is_number_integer() && row[4].is_number_integer() &&
                      row[5].is_number() && row[6].is_string();
    if (!fits) return bad();
    const auto state = row[1].get<int64_t>();
    if (state < 0 || state > static_cast<int64_t>(LoopState::Restarting)) return bad();
    loops.push_back({row[0].get<std::string>(), static_cast<LoopState>(state),
                     row[2].get<int64_t>(), row[3].get<int64_t>(), row[4].get<int64_t>(),
                     row[5].get<double>(), row[6].get<std::string>()});
  }
  return loops;
}

}  // namespace sluice
