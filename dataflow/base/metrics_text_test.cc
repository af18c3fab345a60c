#include "dataflow/base/metrics_text.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(MetricsText, WritesEachFamilyOnceWithItsLabels) {
  MetricRegistry registry;
  registry.counter("vllm:tokens_total", "Tokens.", {{"model_name", "a"}}).add(3);
  registry.gauge("running now", "Requests.").set(0.5);
  registry.counter("vllm:tokens_total", "Tokens.", {{"model_name", "b\"\\\n"}}).add(4);
  EXPECT_EQ(metrics_text(registry),
            "# HELP vllm:tokens_total Tokens.\n"
            "# TYPE vllm:tokens_total counter\n"
            "vllm:tokens_total{model_name=\"a\"} 3\n"
            "vllm:tokens_total{model_name=\"b\\\"\\\\\\n\"} 4\n"
            "# HELP running_now Requests.\n"
            "# TYPE running_now gauge\n"
            "running_now 0.5\n");
}

TEST(MetricsText, HistogramsAreCumulative) {
  MetricRegistry registry;
  Histogram& h = registry.histogram("seconds", "Time.", {0.5, 2}, {{"x", "y"}});
  h.observe(0.25);
  h.observe(1, 2);
  h.observe(9);
  EXPECT_EQ(metrics_text(registry),
            "# HELP seconds Time.\n"
            "# TYPE seconds histogram\n"
            "seconds_bucket{x=\"y\",le=\"0.5\"} 1\n"
            "seconds_bucket{x=\"y\",le=\"2\"} 3\n"
            "seconds_bucket{x=\"y\",le=\"+Inf\"} 4\n"
            "seconds_sum{x=\"y\"} 11.25\n"
            "seconds_count{x=\"y\"} 4\n");
}

}  // namespace
}  // namespace sluice
