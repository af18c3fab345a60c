#include "models/io/safetensors.h"

#include "dataflow/base/files.h"
#include "models/io/safetensors_set.h"
#include "models/io/safetensors_writer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace sluice {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A folder that goes away with the test.
class SafetensorsFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() /
               fmt::format("sluice-st-{}-{}", ::getpid(),
                           ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::string folder_;
};

std::string file_of(const std::string& header, size_t data_bytes) {
  const uint64_t n = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &n, 8);
  return out + header + std::string(data_bytes, '\1');
}

std::string with_length(uint64_t n, const std::string& rest) {
  std::string out(8, '\0');
  std::memcpy(out.data(), &n, 8);
  return out + rest;
}

std::string message(const std::string& bytes) {
  const auto header = SafetensorsHeader::parse(MemorySource(bytes));
  return header.ok() ? "accepted" : header.status().message();
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

TEST(SafetensorsHeader, EveryMalformedFileHasItsOwnMessage) {
  const std::string good = tensor("a", "F32", "[2]", "[0,8]");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {std::string(7, '\0'), "7 bytes are too few"},
      {with_length(uint64_t{1} << 63, ""), "is above the limit"},
      {with_length(50, "{}"), "does not fit into a file of"},
      {file_of("{\"\xff\":1}", 0), "not UTF-8 at byte 2"},
      {file_of("{\"a\"", 0), "not JSON at byte"},
      {file_of("[1]", 0), "not a JSON object"},
      {file_of("{" + good + "," + tensor("b", "F32", "[2]", "[4,12]") + "}", 12),
       "inside tensor 'a'"},
      {file_of("{" + tensor("a", "F32", "[2]", "[4,12]") + "}", 12), "hole of 4 bytes"},
      {file_of("{" + good + "}", 9), "1 bytes follow the last tensor"},
      {file_of("{" + good + "}", 7), "the file is cut"},
      {file_of("{" + tensor("a", "F32", "[2,18446744073709551614]", "[0,8]") + "}", 8),
       "is too large"},
      {file_of("{" + tensor("a", "F32", "[4611686018427387904,4]", "[0,8]") + "}", 8), "overflows"},
      {file_of("{" + tensor("a", "F32", "[3]", "[0,8]") + "}", 8), "take 12"},
      {file_of("{" + tensor("a", "F4", "[3]", "[0,1]") + "}", 1), "do not fill whole bytes"},
      {file_of("{" + good + "," + good + "}", 8), "duplicate key 'a'"},
      {file_of(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0), "duplicate key 'dtype'"},
      {file_of("{" + tensor("a", "F33", "[2]", "[0,8]") + "}", 8), "unknown dtype 'F33'"},
      {file_of("{" + tensor("a", "F32", "[-2]", "[0,8]") + "}", 8), "holds a negative number"},
      {file_of("{" + tensor("a", "F32", "[2]", "[8,0]") + "}", 8), "before its begin"},
      {file_of("{" + tensor("a", "F32", "[2]", "[0,8,8]") + "}", 8), "not two numbers"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2]}})", 8), "has no data_offsets"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"x":1}})", 8), "unknown key 'x'"},
      {file_of(R"({"a":3})", 0), "entry 'a' is a number"},
      {file_of(R"({"__metadata__":{"a":3}})", 0), "not a string"},
      {file_of(R"({"__metadata__":{"a":"b","a":"b"}})", 0), "duplicate key 'a' in __metadata__"},
  };
  std::set<std::string> seen;
  for (const auto& [bytes, wanted] : cases) {
    const std::string said = message(bytes);
    EXPECT_THAT(said, HasSubstr(wanted));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_TRUE(seen.insert(said).second) << "twice: " << said;
  }
}

TEST(SafetensorsHeader, AcceptsWhatTheReferenceAccepts) {
  EXPECT_EQ(message(file_of("{}", 0)), "accepted");
  EXPECT_EQ(message(file_of("  {}  ", 0)), "accepted");
  EXPECT_EQ(message(file_of("{" + tensor("zero", "F32", "[0,7]", "[0,0]") + "," +
                                tensor("scalar", "F32", "[]", "[0,4]") + "}",
                            4)),
            "accepted");
  EXPECT_EQ(message(file_of("{" + tensor("a", "F4", "[4]", "[0,2]") + "," +
                                tensor("b", "F6_E2M3", "[4]", "[2,5]") + "}",
                            5)),
            "accepted");
}

TEST_F(SafetensorsFiles, WritesAndReadsEveryType) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto type :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
        at::kFloat, at::kDouble, at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    tensors.emplace_back(c10::toString(type),
                         at::arange(6).sub(2).to(at::kFloat).reshape({2, 3}).to(type));
  }
  tensors.emplace_back("scalar", at::scalar_tensor(2.5));
  tensors.emplace_back("empty", at::empty({0, 4}));
  ASSERT_TRUE(write_safetensors(path("a.safetensors"), tensors).ok());
  const auto file = SafetensorsFile::open(path("a.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->header().metadata.at("format"), "pt");
  EXPECT_EQ(file->header().entries.size(), tensors.size());
  for (const auto& entry : file->header().entries) {
    const auto wanted = std::find_if(tensors.begin(), tensors.end(), [&](const auto& item) {
                          return item.first == entry.name;
                        })->second;
    const auto same = file->read(entry, wanted.scalar_type());
    ASSERT_TRUE(same.ok()) << same.status().message();
    EXPECT_EQ(same->sizes(), wanted.sizes());
    EXPECT_TRUE(same->to(at::kDouble).equal(wanted.to(at::kDouble))) << entry.name;
    const auto floats = file->read(entry, at::kFloat);
    ASSERT_TRUE(floats.ok());
    EXPECT_TRUE(floats->equal(wanted.to(at::kFloat))) << entry.name;
    EXPECT_EQ(entry.offset % c10::elementSize(wanted.scalar_type()), 0U) << entry.name;
  }
}

TEST_F(SafetensorsFiles, TensorsLookAtTheMappingAndKeepItAlive) {
  ASSERT_TRUE(write_safetensors(path("a"), {{"w", at::arange(8).to(at::kFloat)}}).ok());
  at::Tensor kept;
  {
    const auto file = SafetensorsFile::open(path("a"));
    ASSERT_TRUE(file.ok());
    kept = *file->read(file->header().entries[0], at::kFloat);
    EXPECT_EQ(kept.const_data_ptr(), file->file().data() + file->header().entries[0].offset);
  }
  EXPECT_EQ(kept.sum().item<float>(), 28.0F);
  kept.add_(1);  // changes the process's copy only
  const auto again = SafetensorsFile::open(path("a"));
  EXPECT_EQ(again->read(again->header().entries[0], at::kFloat)->sum().item<float>(), 28.0F);
}

TEST_F(SafetensorsFiles, UnalignedTensorsAreCopied) {
  const std::string header =
      "{" + tensor("a", "U8", "[1]", "[0,1]") + "," + tensor("b", "F32", "[1]", "[1,5]") + "}";
  std::string bytes = file_of(header, 1);
  const float value = 3.5F;
  bytes.append(reinterpret_cast<const char*>(&value), 4);
  const auto file = SafetensorsFile::open(put("a", bytes));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto& entry = file->header().entries[1];
  ASSERT_NE(entry.offset % 4, 0U) << "the case is not what it should be";
  EXPECT_EQ(file->read(entry, at::kFloat)->item<float>(), 3.5F);
}

TEST_F(SafetensorsFiles, AFileThatChangesWhileOpenIsAnError) {
  ASSERT_TRUE(write_safetensors(path("a"), {{"w", at::zeros({4096})}}).ok());
  const auto file = SafetensorsFile::open(path("a"));
  ASSERT_TRUE(file.ok());
  fs::resize_file(path("a"), 100);
  const auto read = file->read(file->header().entries[0], at::kFloat);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::DataLoss);
  EXPECT_THAT(read.status().message(), HasSubstr("changed while it was open"));
  EXPECT_FALSE(file->read(file->header().entries[0], at::kHalf).ok());
}

TEST_F(SafetensorsFiles, AFailedWriteLeavesTheOldFile) {
  ASSERT_TRUE(write_safetensors(path("a"), {{"w", at::ones({2})}}).ok());
  const std::string before = *read_file(path("a"));
  const Status status =
      write_safetensors(path("a"), {{"w", at::kFloat, {2}}},
                        [](size_t) -> Result<at::Tensor> { return error(Code::Internal, "no"); });
  EXPECT_FALSE(status.ok());
  const Status wrong =
      write_safetensors(path("a"), {{"w", at::kFloat, {2}}},
                        [](size_t) -> Result<at::Tensor> { return at::zeros({3}); });
  EXPECT_THAT(wrong.message(), HasSubstr("not Float [2] as announced"));
  EXPECT_EQ(*read_file(path("a")), before);
  size_t files = 0;
  for (const auto& item : fs::directory_iterator(folder_)) files += item.exists() ? 1 : 0;
  EXPECT_EQ(files, 1U) << "a temporary file stayed";
}

class SafetensorsShards : public SafetensorsFiles {
 protected:
  void SetUp() override {
    SafetensorsFiles::SetUp();
    std::vector<TensorToWrite> list;
    for (int i = 0; i < 5; ++i) list.push_back({fmt::format("t{}", i), at::kFloat, {10}});
    const auto producer = [](size_t i) -> Result<at::Tensor> {
      return at::full({10}, static_cast<double>(i));
    };
    ASSERT_TRUE(write_safetensors_set(folder_, list, producer, 80).ok());
  }
  [[nodiscard]] std::string refusal() const {
    const auto set = SafetensorsSet::open(folder_);
    return set.ok() ? "accepted" : set.status().message();
  }
};

TEST_F(SafetensorsShards, AreReadThroughTheIndex) {
  EXPECT_TRUE(fs::exists(path("model-00003-of-00003.safetensors")));
  const auto set = SafetensorsSet::open(folder_);
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->files(), 3U);
  ASSERT_EQ(set->tensors().size(), 5U);
  const auto& place = set->tensors().at("t3");
  EXPECT_EQ(place.file->read(*place.entry, at::kFloat)->sum().item<float>(), 30.0F);
}

TEST_F(SafetensorsShards, AMissingShardIsNamed) {
  fs::remove(path("model-00002-of-00003.safetensors"));
  EXPECT_THAT(refusal(), HasSubstr("shard 'model-00002-of-00003.safetensors' of tensor 't2'"));
}

TEST_F(SafetensorsShards, AnIndexThatLiesIsRefused) {
  const std::string index = path("model.safetensors.index.json");
  put("model.safetensors.index.json",
      R"({"weight_map":{"t0":"model-00002-of-00003.safetensors"}})");
  EXPECT_THAT(refusal(), HasSubstr("does not hold tensor 't0'"));
  put("model.safetensors.index.json", R"({"weight_map":{"t0":"../x"}})");
  EXPECT_THAT(refusal(), HasSubstr("not a file in this folder"));
  put("model.safetensors.index.json", R"({"weight_map":{"t0":"a","t0":"b"}})");
  EXPECT_THAT(refusal(), HasSubstr("duplicate key 't0'"));
  put("model.safetensors.index.json", "{}");
  EXPECT_THAT(refusal(), HasSubstr("weight_map is not an object"));
}

}  // namespace
}  // namespace sluice
