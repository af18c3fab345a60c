// Ten thousand clients at once, or as many as the limit of open files allows: those that find room
// are served, all others hear so at once, and afterwards everything is as it was.
#include "inference/server/raw_client.h"
#include "inference/server/server_support.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>

namespace sluice::server_support {
namespace {

int64_t entries(const char* folder) {
  std::error_code failed;
  return std::distance(std::filesystem::directory_iterator(folder, failed),
                       std::filesystem::directory_iterator());
}

/// Connections that this process can open beside what it needs.
int64_t room() {
  constexpr int64_t kOthers = 400;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int64_t>(limit.rlim_cur) - entries("/proc/self/fd") - kOthers;
}

TEST(ManyConnections, AreServedOrTurnedAwayAtOnceAndLeaveNothing) {
  const int64_t clients = std::min<int64_t>(10'000, room());
  ASSERT_GE(clients, 500) << "raise the limit of open files (ulimit -n)";
  LlmServerOptions options;
  options.max_connections = 128;
  TestServer server(options);
  const int64_t threads_before = entries("/proc/self/task");
  const int64_t files_before = entries("/proc/self/fd");
  const std::string body = completion({{"max_tokens", 3}}).dump();
  const std::string request = fmt::format(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
      "Content-Length: {}\r\n\r\n{}",
      body.size(), body);
  int64_t served = 0, refused = 0, other = 0;
  {
    std::vector<std::unique_ptr<RawClient>> open;
    int64_t most_threads = 0;
    for (int64_t i = 0; i < clients; ++i) {
      open.push_back(std::make_unique<RawClient>(server.server().port()));
      ASSERT_TRUE(open.back()->connected()) << i;
      // Every other one asks for nothing.
      if (i % 2 == 0) open.back()->send(request);
      if (i % 100 == 99) most_threads = std::max(most_threads, entries("/proc/self/task"));
    }
    EXPECT_LE(most_threads, threads_before + 128 + 8) << "one for each place, a few of the library";
    for (size_t i = 0; i < open.size(); i += 2) {
      const std::string answer = open[i]->read_to_end();
      const auto is = [&](const char* status) {
        return answer.starts_with(fmt::format("HTTP/1.1 {} ", status));
      };
      if (is("200")) {
        ++served;
      } else if (is("503") || is("429")) {
        ++refused;
        EXPECT_THAT(answer, ::testing::HasSubstr("Retry-After: 1\r\n"));
      } else {
        ++other;
      }
    }
  }
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(other, 0) << "without an answer";
  EXPECT_TRUE(TestServer::eventually(
      [&] { return server.post("/v1/completions", completion()).status == 200; }));
  ASSERT_TRUE(server.settled());
  EXPECT_TRUE(TestServer::eventually([&] { return entries("/proc/self/fd") <= files_before; }))
      << "descriptors are left";
}

}  // namespace
}  // namespace sluice::server_support
