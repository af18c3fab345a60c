#include "bench/report.h"

#include "dataflow/base/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

namespace sluice::bench {
namespace {

constexpr size_t kColumns = 8;
using Line = std::array<std::string, kColumns>;

std::string number(double x) {
  const double size = std::abs(x);
  if (size >= 1000) return fmt::format("{:.0f}", x);
  return fmt::format("{:.4g}", x);
}

std::string spread(const std::vector<double>& repeats) {
  if (repeats.size() < 2) return "";
  const auto [low, high] = std::minmax_element(repeats.begin(), repeats.end());
  return fmt::format("{}..{}", number(*low), number(*high));
}

Line line_of(const BenchResult& r) {
  Line line{r.metric, number(r.value) + (r.unit.empty() ? "" : " " + r.unit), spread(r.repeats)};
  if (!r.peer.empty()) line[3] = r.peer;
  if (r.peer_value) {
    line[4] = number(*r.peer_value);
    const std::string its = spread(r.peer_repeats);
    if (!its.empty()) line[4] += " (" + its + ")";
  }
  if (const auto ratio = r.ratio()) line[5] = number(*ratio);
  if (r.goal) line[6] = r.goal->text();
  if (const auto met = r.met()) line[7] = *met ? "yes" : "no";
  return line;
}

nlohmann::json json_of(const BenchResult& r) {
  const auto or_null = [](const auto& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  nlohmann::json out;
  out["metric"] = r.metric;
  out["value"] = r.value;
  out["unit"] = r.unit;
  out["peer"] = r.peer.empty() ? nlohmann::json() : nlohmann::json(r.peer);
  out["peer_value"] = or_null(r.peer_value);
  out["ratio"] = or_null(r.ratio());
  out["goal"] = r.goal ? nlohmann::json(r.goal->text()) : nlohmann::json();
  out["met"] = or_null(r.met());
  out["spread"] = nlohmann::json();
  if (!r.repeats.empty()) {
    const auto [low, high] = std::minmax_element(r.repeats.begin(), r.repeats.end());
    out["spread"] = {*low, *high};
  }
  out["note"] = r.note.empty() ? nlohmann::json() : nlohmann::json(r.note);
  return out;
}

}  // namespace

std::string to_table(std::string_view name, const Report& report) {
  std::vector<Line> lines{
      {"metric", "value", "spread", "peer", "peer value", "ratio", "goal", "met"}};
  for (const auto& result : report) lines.push_back(line_of(result));
  std::array<size_t, kColumns> width{};
  for (const auto& line : lines) {
    for (size_t i = 0; i < kColumns; ++i) width[i] = std::max(width[i], line[i].size());
  }
  std::string out = fmt::format("{}  ({}, {} threads)\n", name, cpu_name(), cpu_threads());
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < kColumns; ++i) {
      if (width[i] == 0) continue;
      text += fmt::format("{:<{}}  ", line[i], width[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  for (const auto& result : report) {
    if (!result.note.empty()) out += fmt::format("{}: {}\n", result.metric, result.note);
  }
  return out;
}

std::string to_json(std::string_view name, const Report& report) {
  nlohmann::json out;
  out["name"] = name;
  out["version"] = SLUICE_VERSION;
  out["cpu"] = cpu_name();
  out["threads"] = cpu_threads();
  out["results"] = nlohmann::json::array();
  for (const auto& result : report) out["results"].push_back(json_of(result));
  return out.dump(2) + "\n";
}

std::string cpu_name() {
  const auto info = read_file("/proc/cpuinfo");
  if (!info.ok()) return "unknown";
  const auto at = info->find("model name");
  if (at == std::string::npos) return "unknown";
  const auto colon = info->find(": ", at);
  const auto end = info->find('\n', at);
  if (colon == std::string::npos || colon > end) return "unknown";
  return info->substr(colon + 2, end - colon - 2);
}

int cpu_threads() { return static_cast<int>(std::thread::hardware_concurrency()); }

}  // namespace sluice::bench
