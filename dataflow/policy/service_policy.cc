#include "dataflow/policy/service_policy.h"

#include "dataflow/policy/differences.h"

#include <fmt/format.h>

namespace sluice {

void ServicePolicy::bind(ConfigBinder& b) {
  b.field("batch_limit", batch_limit, "weight at which a batch is flushed", Range::at_least(1));
  b.field("batch_within_us", batch_within_us,
          "microseconds a request waits for company; 0 = take what is there", Range::at_least(0));
  b.field("deadline_ms", deadline_ms, "milliseconds until an unanswered request fails; 0 = never",
          Range::at_least(0));
  b.field("capacity", capacity, "requests held", Range::between(1, 1 << 30));
}

std::vector<std::string> problems(const ServicePolicy& p) {
  std::vector<std::string> out;
  if (p.capacity < 1 || p.capacity > (1 << 30)) {
    out.push_back(fmt::format("capacity {} must be between 1 and {}", p.capacity, 1 << 30));
  }
  if (p.batch_limit < 1) {
    out.push_back(fmt::format("batch limit {} must be at least 1", p.batch_limit));
  }
  if (p.batch_within_us < 0) {
    out.push_back(fmt::format("batch_within_us {} must not be negative", p.batch_within_us));
  }
  if (p.deadline_ms < 0) {
    out.push_back(fmt::format("deadline_ms {} must be 0 (never) or more", p.deadline_ms));
  }
  if (p.deadline_ms > 0 && p.batch_within_us >= 0 && p.batch_within() >= p.deadline()) {
    out.push_back(fmt::format("requests would expire after {} ms while they wait {} us for company",
                              p.deadline_ms, p.batch_within_us));
  }
  return out;
}

std::vector<std::string> differences(const ServicePolicy& a, const ServicePolicy& b) {
  Differences d;
  d.field("batch_limit", a.batch_limit, b.batch_limit);
  d.field("batch_within_us", a.batch_within_us, b.batch_within_us);
  d.field("deadline_ms", a.deadline_ms, b.deadline_ms);
  d.field("capacity", a.capacity, b.capacity);
  return d.take();
}

}  // namespace sluice
