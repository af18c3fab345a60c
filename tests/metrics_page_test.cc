// docs/metrics.md against what a real run serves to Prometheus.
#include "tests/support/child.h"
#include "tests/support/http.h"
#include "tests/support/run_files.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <regex>

namespace sluice::testing {
namespace {

using Kinds = std::map<std::string, std::string>;  // by metric

Kinds find_all(const std::string& text, const std::regex& pattern) {
  Kinds found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    found[(*it)[1]] = (*it)[2];
  }
  return found;
}

/// The sum of a metric's values on a page, over all labels; -1 when it is not there.
double value_of(const std::string& page, const std::string& name) {
  const std::regex line("\n" + name + "(?:\\{[^}]*\\})? ([^\n]+)");
  double sum = -1;
  for (std::sregex_iterator it(page.begin(), page.end(), line), end; it != end; ++it) {
    sum = std::max(sum, 0.0) + std::strtod((*it)[1].str().c_str(), nullptr);
  }
  return sum;
}

class MetricsPage : public ::testing::Test {
 protected:
  static std::string page_of(Child& child) {
    const std::string at = "metrics: http://127.0.0.1:";
    EXPECT_TRUE(child.wait_for("/metrics\n", 30)) << child.printed();
    const std::string text = child.printed();
    const size_t from = text.find(at);
    if (from == std::string::npos) return "";
    return http_get(std::atoi(text.c_str() + from + at.size()), "/metrics");
  }

  TempDir dir_;
  std::string out_ = dir_ / "run";
};

TEST_F(MetricsPage, ServesEveryDocumentedMetricAsItsKind) {
  Child child(small_run(out_, {"--metrics-port", "0", "--set", "checkpoint_every=1"}));
  ASSERT_TRUE(child.wait_until([&] { return checkpoints(out_).size() > 1; }, 30))
      << child.printed();
  const std::string page = page_of(child);
  Kinds documented = find_all(read_text(SLUICE_SOURCE_DIR "/docs/metrics.md"),
                              std::regex("\\| `(sluice_\\w+)` \\| (\\w+) \\|"));
  ASSERT_GT(documented.size(), 30U);
  // No buffer and no language model here, and nothing that hangs.
  std::erase_if(documented, [](const auto& metric) {
    for (const char* elsewhere :
         {"sluice_buffer_", "sluice_llm_", "sluice_server_", "sluice_prompts_", "sluice_groups_",
          "sluice_rollouts_", "sluice_rollout_tokens_", "sluice_sampler_", "sluice_judge_",
          "sluice_worker_abandoned_total"}) {
      if (metric.first.starts_with(elsewhere)) return true;
    }
    return false;
  });
  EXPECT_EQ(find_all(page, std::regex("# TYPE (sluice_\\w+) (\\w+)")), documented);

  EXPECT_GE(value_of(page, "sluice_run_checkpoints_total"), 1);
  EXPECT_EQ(value_of(page, "sluice_run_checkpoint_failures_total"), 0);
  EXPECT_GT(value_of(page, "sluice_worker_busy_seconds_total"), 0);
  EXPECT_GT(value_of(page, "sluice_worker_idle_seconds_total"), 0);
  EXPECT_GT(value_of(page, "sluice_stream_read_total"), 0);
  EXPECT_EQ(value_of(page, "sluice_stream_staleness_sum"), 0) << "strictly on-policy";
  EXPECT_EQ(value_of(page, "sluice_service_lost_servers_total"), 0);
}

TEST_F(MetricsPage, CountsCheckpointsThatFailed) {
  // No file may grow beyond 16 KiB: the metrics fit, a trainer's state does not.
  std::string command = "trap '' XFSZ; ulimit -f 16; exec";
  for (const auto& word : small_run(out_, {"--metrics-port", "0", "--set", "checkpoint_every=5"})) {
    command += " '" + word + "'";
  }
  Child child({"bash", "-c", command});
  ASSERT_TRUE(child.wait_for("failed, the run goes on", 30)) << child.printed();
  const std::string page = page_of(child);
  EXPECT_GE(value_of(page, "sluice_run_checkpoint_failures_total"), 1);
  EXPECT_EQ(value_of(page, "sluice_run_checkpoints_total"), 0);
}

}  // namespace
}  // namespace sluice::testing
