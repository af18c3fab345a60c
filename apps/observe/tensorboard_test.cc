#include "apps/observe/tensorboard.h"

#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;

std::string golden_bytes() {
  const auto hex =
      read_file(std::string(SLUICE_SOURCE_DIR) + "/apps/observe/testdata/tensorboard_golden.hex");
  SLUICE_CHECK(hex.ok()) << hex.status().to_string();
  std::string out;
  std::string pair;
  for (const char c : *hex) {
    if (c == '\n') continue;
    pair += c;
    if (pair.size() == 2) {
      out += static_cast<char>(std::stoi(pair, nullptr, 16));
      pair.clear();
    }
  }
  return out;
}

// Takes records apart without looking at the checksums.
std::vector<std::string> records(std::string_view bytes) {
  std::vector<std::string> out;
  while (bytes.size() >= 16) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    out.emplace_back(bytes.substr(12, size));
    bytes.remove_prefix(16 + size);
  }
  EXPECT_TRUE(bytes.empty());
  return out;
}

TEST(Crc32c, GivesThePublishedNumbers) {  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Tensorboard, WritesTheBytesOfTensorboardX) {
  std::string bytes = tf_record(version_event(1'700'000'000.25));
  bytes += tf_record(scalar_event(1'700'000'002.5, 1, {{"episode/return", 21.5}}));
  bytes += tf_record(scalar_event(1'700'000'301.5, 300, {{"loss", -0.125}, {"rate", 1e6}}));
  EXPECT_EQ(bytes, golden_bytes());
}

TEST(Tensorboard, FilesHoldTheEventsInOrder) {
  const std::string folder = fmt::format("{}tensorboard_{}", ::testing::TempDir(), ::getpid());
  fs::create_directories(folder);
  {
    auto writer = TensorboardWriter::open(folder, 1'700'000'000.5, "host");
    ASSERT_TRUE(writer.ok()) << writer.status().to_string();
    EXPECT_EQ(writer->path(), folder + "/events.out.tfevents.1700000000.host");
    ASSERT_TRUE(writer->append(1, 2, {{"a", 3}}).ok());
    ASSERT_TRUE(writer->append(2, 4, {}).ok());
    EXPECT_THAT(records(*read_file(writer->path())),
                ElementsAre(version_event(1'700'000'000.5), scalar_event(1, 2, {{"a", 3}}),
                            scalar_event(2, 4, {})));
    const auto second = TensorboardWriter::open(folder, 1'700'000'000.9, "host");
    ASSERT_TRUE(second.ok());
    EXPECT_THAT(second->path(), EndsWith(".host.2"));
  }
  fs::remove_all(folder);
}

TEST(Tensorboard, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(TensorboardWriter::open("/proc/none", 0, "h").status().code(), Code::NotFound);
}

}  // namespace
}  // namespace sluice
