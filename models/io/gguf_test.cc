#include "models/io/gguf.h"

#include "models/io/dequantize.h"
#include "models/io/gguf_file.h"
#include "models/io/gguf_writer.h"
#include "models/io/safetensors.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

namespace sluice {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string testdata(const std::string& name) {
  return std::string(SLUICE_SOURCE_DIR) + "/models/io/testdata/" + name;
}

/// Builds GGUF files by hand.
class Builder {
 public:
  template <class T>
  Builder& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Builder& text(const std::string& value) {
    put<uint64_t>(value.size());
    bytes_ += value;
    return *this;
  }
  Builder& head(uint64_t tensors, uint64_t values, uint32_t version = 3) {
    bytes_ = "GGUF";
    return put(version).put(tensors).put(values);
  }
  Builder& tensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type,
                  uint64_t offset) {
    text(name).put(static_cast<uint32_t>(dims.size()));
    for (const uint64_t size : dims) put(size);
    return put(type).put(offset);
  }
  Builder& data(size_t count) {
    while (bytes_.size() % 32 != 0) bytes_ += '\0';
    bytes_.append(count, '\0');
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string message(const Builder& builder) {
  const auto header = GgufHeader::parse(MemorySource(builder.bytes()));
  return header.ok() ? "accepted" : header.status().message();
}

Builder alignment(uint32_t value) {
  Builder b;
  b.head(0, 1).text("general.alignment").put<uint32_t>(4).put(value);
  return b;
}

/// The most memory this process ever held, in KiB.
int64_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(GgufHeader, EveryMalformedFileHasItsOwnMessageAndTakesNoMemory) {
  Builder b;
  EXPECT_THAT(message(b), HasSubstr("ends inside the magic"));
  const int64_t before = peak_kib();
  EXPECT_THAT(message(b.put<uint32_t>(1).put<uint64_t>(0)), HasSubstr("not a GGUF file"));
  EXPECT_THAT(message(b.head(0, 0, 1)), HasSubstr("version 1"));
  EXPECT_THAT(message(b.head(0, 0, 3U << 24)), HasSubstr("big-endian"));
  EXPECT_THAT(message(b.head(uint64_t{1} << 60, 0)), HasSubstr("do not fit"));
  EXPECT_THAT(message(b.head(0, uint64_t{1} << 60)), HasSubstr("do not fit"));
  EXPECT_THAT(message(b.head(1, 0).tensor("x", {1, 1, 1, 1, 1}, 0, 0)), HasSubstr("5 dimensions"));
  EXPECT_THAT(message(b.head(1, 0).tensor("x", {uint64_t{1} << 33, uint64_t{1} << 33}, 0, 0)),
              HasSubstr("overflows"));
  EXPECT_THAT(message(b.head(1, 0).tensor("x", {4}, 99, 0)), HasSubstr("tensor type 99"));
  EXPECT_THAT(message(b.head(1, 0).tensor("x", {33}, 2, 0)), HasSubstr("no multiple of the 32"));
  EXPECT_THAT(message(b.head(1, 0).tensor("x", {4}, 0, 8).data(64)), HasSubstr("begins at 8"));
  EXPECT_THAT(message(b.head(1, 0).tensor("x", {64}, 0, 0).data(64)), HasSubstr("takes 256 bytes"));
  EXPECT_THAT(message(b.head(2, 0).tensor("x", {4}, 0, 0).tensor("x", {4}, 0, 32).data(64)),
              HasSubstr("duplicate tensor 'x'"));
  EXPECT_THAT(message(b.head(2, 0).tensor("x", {12}, 0, 0).tensor("y", {4}, 0, 32).data(64)),
              HasSubstr("tensors 'x' and 'y' overlap"));
  EXPECT_THAT(message(b.head(0, 2)
                          .text("k")
                          .put<uint32_t>(4)
                          .put<uint32_t>(1)
                          .text("k")
                          .put<uint32_t>(4)
                          .put<uint32_t>(1)),
              HasSubstr("duplicate metadata 'k'"));
  EXPECT_THAT(message(b.head(0, 1).text("k").put<uint32_t>(77).put<uint32_t>(1)),
              HasSubstr("unknown value type 77"));
  EXPECT_THAT(message(b.head(0, 1).text("k").put<uint32_t>(8).put(uint64_t{1} << 40)),
              HasSubstr("length of 1099511627776"));
  EXPECT_THAT(message(b.head(0, 1).put(uint64_t{1} << 40).put<uint64_t>(0)),
              HasSubstr("length of 1099511627776"));
  EXPECT_THAT(
      message(b.head(0, 1).text("k").put<uint32_t>(9).put<uint32_t>(6).put(uint64_t{1} << 40)),
      HasSubstr("elements of f32"));
  for (const uint32_t bad : {0U, 3U, 1U << 30}) {
    EXPECT_THAT(message(alignment(bad)), HasSubstr("no power of two")) << bad;
  }
  EXPECT_EQ(message(alignment(64)), "accepted");
  Builder nested;
  nested.head(0, 1).text("k").put<uint32_t>(9);
  for (int depth = 0; depth < 1000; ++depth) nested.put<uint32_t>(9).put<uint64_t>(1);
  EXPECT_THAT(message(nested), HasSubstr("deeper than"));
  EXPECT_LT(peak_kib() - before, 10 * 1024);
}

/// Bytes in front and zeros behind them, as many as it likes: a file with a hole.
class SourceWithAHole final : public ByteSource {
 public:
  SourceWithAHole(std::string front, uint64_t size) : front_(std::move(front)), size_(size) {}
  [[nodiscard]] uint64_t size() const noexcept override { return size_; }
  Status read(uint64_t offset, void* out, size_t count) const override {
    std::memset(out, 0, count);
    if (offset >= front_.size()) return {};
    std::memcpy(out, front_.data() + offset, std::min<size_t>(count, front_.size() - offset));
    return {};
  }

 private:
  std::string front_;
  uint64_t size_;
};

TEST(GgufHeader, ListsThatAHugeFileCouldHoldAreRefusedBeforeTheyAreMade) {
  constexpr uint64_t kSize = uint64_t{1} << 40;
  const auto message = [](const Builder& front) {
    const auto header = GgufHeader::parse(SourceWithAHole(front.bytes(), kSize));
    return header.ok() ? "accepted" : header.status().message();
  };
  const int64_t before = peak_kib();
  for (const uint32_t element : {0U, 6U, 8U, 9U, 12U}) {
    Builder b;
    b.head(0, 1).text("k").put<uint32_t>(9).put(element).put(kSize / 16);
    EXPECT_THAT(message(b), HasSubstr("metadata 'k' does not fit")) << element;
  }
  Builder b;
  EXPECT_THAT(message(b.head(kSize / 64, 0)), HasSubstr("the list of tensors does not fit"));
  EXPECT_THAT(message(b.head(0, kSize / 64)), HasSubstr("the list of metadata does not fit"));
  EXPECT_LT(peak_kib() - before, 10 * 1024);
}

TEST(GgufHeader, EveryCutOfARealFileIsRefused) {
  const auto file = MappedFile::open(testdata("tiny_llama.gguf"));
  ASSERT_TRUE(file.ok());
  std::string bytes((*file)->size(), '\0');
  ASSERT_TRUE((*file)->read(0, bytes.data(), bytes.size()).ok());
  ASSERT_TRUE(GgufHeader::parse(MemorySource(bytes)).ok());
  for (size_t size = 0; size < bytes.size(); size += 97) {
    EXPECT_FALSE(GgufHeader::parse(MemorySource(std::string_view(bytes).substr(0, size))).ok())
        << size;
  }
}

TEST(Dequantize, EqualsTheReferenceBitForBit) {
  const auto quants = GgufFile::open(testdata("quants.gguf"));
  const auto wanted = SafetensorsFile::open(testdata("quants.safetensors"));
  ASSERT_TRUE(quants.ok()) << quants.status().message();
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  size_t seen = 0;
  for (const auto& entry : wanted->header().entries) {
    for (const auto& tensor : quants->header().tensors) {
      if (tensor.name != entry.name) continue;
      ++seen;
      const auto ours = quants->read_raw(tensor);
      ASSERT_TRUE(ours.ok()) << ours.status().message();
      EXPECT_TRUE(ours->equal(*wanted->read(entry, at::kFloat))) << entry.name;
    }
  }
  EXPECT_EQ(seen, 10U);
}

TEST(Dequantize, VariantsGiveTheSameBits) {
  if (!supported(Isa::Avx2)) GTEST_SKIP() << "no AVX2 here";
  std::mt19937 random(1);
  for (const auto type : {StoredType::Q4_0, StoredType::Q4_1, StoredType::Q5_0, StoredType::Q5_1,
                          StoredType::Q8_0, StoredType::Q4K, StoredType::Q5K, StoredType::Q6K}) {
    constexpr int64_t kBlocks = 37;
    std::vector<uint8_t> packed(kBlocks * block_bits(type) / 8);
    for (auto& byte : packed) byte = static_cast<uint8_t>(random());
    std::vector<float> plain(kBlocks * block_elements(type));
    std::vector<float> fast(plain.size());
    dequantize_kernel(type, Isa::Plain)(packed.data(), kBlocks, plain.data());
    dequantize_kernel(type, Isa::Avx2)(packed.data(), kBlocks, fast.data());
    for (size_t i = 0; i < plain.size(); ++i) {
      const bool both_nan = plain[i] != plain[i] && fast[i] != fast[i];
      ASSERT_TRUE(both_nan || plain[i] == fast[i]) << name(type) << " element " << i;
    }
  }
}

TEST(Dequantize, BlocksBuiltByHand) {
  // Q4_1: d = 0.5, m = -1; element j is the low nibble of byte j, element j + 16 the high one.
  std::vector<uint8_t> q4(20, 0);
  q4[1] = 0x38;  // 0.5
  q4[3] = 0xbc;  // -1
  q4[4] = 0x2f;
  std::vector<float> out(32);
  dequantize_kernel(StoredType::Q4_1, Isa::Plain)(q4.data(), 1, out.data());
  EXPECT_EQ(out[0], 6.5F);
  EXPECT_EQ(out[16], 0.0F);
  EXPECT_EQ(out[1], -1.0F);
  std::vector<uint8_t> q8(34, 0);
  q8[1] = 0x3c;  // 1
  q8[2] = 0x80;
  q8[33] = 0x7f;
  dequantize_kernel(StoredType::Q8_0, Isa::Plain)(q8.data(), 1, out.data());
  EXPECT_EQ(out[0], -128.0F);
  EXPECT_EQ(out[31], 127.0F);
}

TEST(GgufWriter, QuantizesNumbersThatHaveNoInteger) {
  std::vector<uint8_t> block(34);
  std::vector<float> in(32, 1.0F);
  in[1] = NAN;
  quantize_q8_0(in.data(), 1, block.data());
  EXPECT_EQ(block[2], 127);
  EXPECT_EQ(block[3], 0);
  in[1] = INFINITY;
  quantize_q8_0(in.data(), 1, block.data());
  EXPECT_EQ(block[2], 0);
  std::fill(in.begin(), in.end(), 1e-40F);  // 1 / d is infinite
  quantize_q8_0(in.data(), 1, block.data());
  EXPECT_EQ(block[2], 0);
}

TEST(GgufWriter, WritesWhatTheReaderReads) {
  const std::string path =
      (fs::temp_directory_path() / fmt::format("sluice-gguf-{}", ::getpid())).string();
  const at::Tensor values = at::linspace(-3, 3, 128).reshape({2, 64});
  GgufArray words;
  words.element = GgufType::String;
  words.strings = {"a", "", "c"};
  const GgufMetadata metadata = {{"s", internal::gguf_string("text")},
                                 {"u", internal::gguf_u32(7)},
                                 {"f", internal::gguf_f32(0.5)},
                                 {"b", internal::gguf_bool(true)},
                                 {"w", {GgufType::Array, words}}};
  std::vector<GgufTensorToWrite> tensors;
  for (const auto type : {StoredType::F32, StoredType::F16, StoredType::BF16, StoredType::Q8_0}) {
    tensors.push_back({std::string(name(type)), type, {2, 64}});
  }
  ASSERT_TRUE(write_gguf(path, metadata, tensors, [&](size_t) -> Result<at::Tensor> {
                return values;
              }).ok());
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(*file->header().string("s"), "text");
  EXPECT_EQ(*file->header().integer("u"), 7);
  EXPECT_EQ(*file->header().number("f"), 0.5);
  EXPECT_TRUE(*file->header().boolean_or("b", false));
  EXPECT_EQ((*file->header().array("w", GgufType::String))->strings, words.strings);
  EXPECT_FALSE(file->header().string("u").ok());
  EXPECT_EQ(file->header().string("nothing").status().code(), Code::NotFound);
  const auto read = [&](size_t i) { return *file->read_raw(file->header().tensors[i]); };
  EXPECT_TRUE(read(0).equal(values));
  EXPECT_TRUE(read(1).equal(values.to(at::kHalf).to(at::kFloat)));
  EXPECT_TRUE(read(2).equal(values.to(at::kBFloat16).to(at::kFloat)));
  EXPECT_LT((read(3) - values).abs().max().item<float>(), 3.0F / 127);
  fs::remove(path);
}

TEST(GgufWriter, RefusesWhatItCannotWrite) {
  const auto producer = [](size_t) -> Result<at::Tensor> { return at::zeros({33}); };
  EXPECT_THAT(write_gguf("/nonexistent/x", {}, {{"t", StoredType::Q8_0, {33}}}, producer).message(),
              HasSubstr("no multiple of the 32"));
  EXPECT_THAT(write_gguf("/nonexistent/x", {}, {{"t", StoredType::Q6K, {256}}}, producer).message(),
              HasSubstr("cannot be written as Q6_K"));
}

}  // namespace
}  // namespace sluice
