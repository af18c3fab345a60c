#include "dataflow/base/metrics_text.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice {
namespace {

std::string plain(std::string_view name, bool colons) {
  std::string out(name);
  for (char& c : out) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      (colons && c == ':');
    if (!fine) c = '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(out.begin(), '_');
  return out;
}

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string labels_text(const Labels& labels, std::string_view more = {}) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", plain(name, false),
                       escaped(value, true));
  }
  if (!more.empty()) out += fmt::format("{}{}", out.empty() ? "" : ",", more);
  return out.empty() ? out : "{" + out + "}";
}

std::string_view type_of(MetricSample::Kind kind) {
  switch (kind) {
    case MetricSample::Kind::Counter:
      return "counter";
    case MetricSample::Kind::Gauge:
      return "gauge";
    case MetricSample::Kind::Histogram:
      return "histogram";
  }
  return "untyped";
}

void add_histogram(std::string& out, const std::string& name, const MetricSample& sample) {
  int64_t total = 0;
  for (size_t i = 0; i < sample.counts.size(); ++i) {
    total += sample.counts[i];
    const std::string bound = i < sample.bounds.size() ? number(sample.bounds[i]) : "+Inf";
    out += fmt::format("{}_bucket{} {}\n", name,
                       labels_text(sample.labels, fmt::format("le=\"{}\"", bound)), total);
  }
  const std::string labels = labels_text(sample.labels);
  out += fmt::format("{}_sum{} {}\n{}_count{} {}\n", name, labels, number(sample.sum), name, labels,
                     total);
}

}  // namespace

std::string metrics_text(const MetricRegistry& registry) {
  std::string out;
  std::string family;
  // A family's samples stand together in a snapshot.
  for (const MetricSample& sample : registry.snapshot()) {
    const std::string name = plain(sample.name, true);
    if (name != family) {
      family = name;
      out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(sample.help, false), name,
                         type_of(sample.kind));
    }
    if (sample.kind == MetricSample::Kind::Histogram) {
      add_histogram(out, name, sample);
    } else {
      out += fmt::format("{}{} {}\n", name, labels_text(sample.labels), number(sample.value));
    }
  }
  return out;
}

}  // namespace sluice
