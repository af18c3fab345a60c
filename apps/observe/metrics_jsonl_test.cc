#include "apps/observe/metrics_jsonl.h"

#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>

namespace sluice {
namespace {

class MetricsJsonlTest : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path.c_str()); }
  MetricsJsonl open() {
    auto out = MetricsJsonl::open(path);
    SLUICE_CHECK(out.ok()) << out.status().to_string();
    return *std::move(out);
  }
  std::string path = fmt::format("{}metrics_{}.jsonl", ::testing::TempDir(), ::getpid());
};

TEST_F(MetricsJsonlTest, WritesOneObjectPerLine) {
  MetricsJsonl out = open();
  ASSERT_TRUE(out.append(1.5, 10, {{"b", 0.1}, {"a", 2}}).ok());
  EXPECT_EQ(*read_file(path), "{\"time\":1.5,\"step\":10,\"b\":0.1,\"a\":2.0}\n");
  ASSERT_TRUE(out.append(2, 11, {}).ok());
  EXPECT_EQ(*read_file(path),
            "{\"time\":1.5,\"step\":10,\"b\":0.1,\"a\":2.0}\n{\"time\":2.0,\"step\":11}\n");
}

TEST_F(MetricsJsonlTest, NumbersReadBackExactlyAndNonFiniteOnesAreNull) {
  MetricsJsonl out = open();
  ASSERT_TRUE(
      out.append(0, 1, {{"third", 1.0 / 3}, {"nan", std::nan("")}, {"inf", HUGE_VAL}}).ok());
  const auto line = nlohmann::json::parse(*read_file(path));
  EXPECT_EQ(line.at("third").get<double>(), 1.0 / 3);
  EXPECT_TRUE(line.at("nan").is_null());
  EXPECT_TRUE(line.at("inf").is_null());
}

TEST_F(MetricsJsonlTest, ResumeGoesOnBehindTheLastWholeLine) {
  for (const size_t half : {size_t{0}, size_t{7}, size_t{5000}, size_t{4096}}) {
    const std::string whole = "{\"step\":1}\n" + std::string(4090, ' ') + "\n";
    ASSERT_TRUE(write_file_atomic(path, whole + std::string(half, '{')).ok());
    ASSERT_TRUE(open().append(0, 2, {}).ok());
    EXPECT_EQ(*read_file(path), whole + "{\"time\":0.0,\"step\":2}\n") << half;
  }
}

TEST_F(MetricsJsonlTest, AFileOfHalfALineStartsAnew) {
  ASSERT_TRUE(write_file_atomic(path, "{\"time").ok());
  ASSERT_TRUE(open().append(0, 2, {}).ok());
  EXPECT_EQ(*read_file(path), "{\"time\":0.0,\"step\":2}\n");
}

TEST_F(MetricsJsonlTest, AFullDiskLeavesTheLinesBefore) {
  MetricsJsonl out = open();
  ASSERT_TRUE(out.append(0, 1, {}).ok());
  const std::string before = *read_file(path);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = old;
  tight.rlim_cur = before.size() + 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = out.append(0, 2, {});
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), Code::ResourceExhausted);
  EXPECT_EQ(*read_file(path), before);
  ASSERT_TRUE(out.append(0, 1, {}).ok());
  EXPECT_EQ(*read_file(path), before + before);
}

TEST_F(MetricsJsonlTest, APathThatCannotBeOpenedIsAnError) {
  EXPECT_EQ(MetricsJsonl::open(path + ".none/x").status().code(), Code::NotFound);
}

}  // namespace
}  // namespace sluice
