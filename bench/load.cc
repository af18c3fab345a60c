// Seconds from file to ready tensors. Safetensors: every tensor of a bf16 folder, mapped and
// touched once (a sum over each page), beside just reading the same bytes with read(2) into a
// buffer that is touched alike. GGUF: every tensor unpacked to floats, one thread. Files are in the
// page cache.
#include "bench/bench.h"
#include "bench/programs.h"
#include "dataflow/base/clock.h"
#include "models/io/checkpoint.h"
#include "models/io/dequantize.h"
#include "models/io/gguf_writer.h"
#include "models/io/model_cache.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace sluice::bench {
namespace {

constexpr int kRepeats = 5;

/// Keeps the compiler from leaving the reads out.
std::atomic<uint64_t> sink{0};

void touch(const void* data, size_t bytes) {
  const auto* from = static_cast<const uint8_t*>(data);
  uint64_t sum = 0;
  constexpr size_t kPage = 4096;
  for (size_t i = 0; i < bytes; i += kPage) sum += from[i];
  sink.fetch_add(sum);
}

/// Processor time of this thread: what "per core" means on a machine that others use too.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

Result<double> seconds(const std::function<Status()>& work) {
  const RealClock& clock = RealClock::instance();
  const TimeNs then = clock.now();
  RETURN_IF_ERROR(work());
  return static_cast<double>(clock.now() - then) / 1e9;
}

Status load(const std::string& path, bool as_stored, uint64_t& bytes) {
  ASSIGN_OR_RETURN(const auto model, Checkpoint::open(path));
  bytes = 0;
  std::vector<at::Tensor> kept;
  for (const auto& tensor : model->tensors()) {
    ASSIGN_OR_RETURN(at::Tensor value,
                     model->read(tensor.name, as_stored ? at::kBFloat16 : at::kFloat));
    bytes += value.nbytes();
    if (as_stored) touch(value.const_data_ptr(), value.nbytes());
    // A model keeps its tensors; of the unpacked ones only the last is, as in a copy to a device.
    if (as_stored) kept.push_back(std::move(value));
  }
  return {};
}

/// What the file costs when it is only read: into fresh memory, as a loader without a map would.
Status read_bytes(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return error(Code::NotFound, "cannot read '{}'", path);
  const off_t size = ::lseek(file, 0, SEEK_END);
  const std::unique_ptr<uint8_t[]> buffer(new uint8_t[static_cast<size_t>(size)]);
  off_t at = 0;
  while (at < size) {
    const ssize_t n = ::pread(file, buffer.get() + at, static_cast<size_t>(size - at), at);
    if (n <= 0) break;
    at += n;
  }
  ::close(file);
  if (at != size) return error(Code::DataLoss, "cannot read all of '{}'", path);
  touch(buffer.get(), static_cast<size_t>(size));
  return {};
}

/// GB/s of floats that the kernel of one format makes from blocks in the cache.
double kernel_rate(StoredType type) {
  constexpr int64_t kFloats = 64 * 1024;
  constexpr int kRounds = 200;
  const int64_t blocks = kFloats / block_elements(type);
  std::vector<uint8_t> packed(static_cast<size_t>(blocks) * block_bits(type) / 8, 0x11);
  std::vector<float> out(kFloats);
  const Dequantize unpack = dequantize_kernel(type, active_isa());
  const double then = thread_seconds();
  for (int i = 0; i < kRounds; ++i) {
    unpack(packed.data(), blocks, out.data());
    touch(out.data(), out.size() * sizeof(float));
  }
  const auto bytes = static_cast<double>(out.size() * sizeof(float)) * kRounds;
  return bytes / (thread_seconds() - then) / 1e9;
}

/// A folder for this run, removed with it.
class Scratch {
 public:
  Scratch()
      : path_((std::filesystem::temp_directory_path() / fmt::format("sluice-load-{}", ::getpid()))
                  .string()) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace

Result<Report> run_load(const BenchOptions&) {
  ASSIGN_OR_RETURN(const std::string model, resolve_model("smollm2"));
  const Scratch scratch;
  std::error_code failed;
  std::filesystem::create_directories(scratch.path(), failed);
  if (failed) return error(Code::FailedPrecondition, "cannot make '{}'", scratch.path());
  const std::string gguf = scratch.path() + "/model.gguf";
  {
    ASSIGN_OR_RETURN(const auto from, Checkpoint::open(model));
    RETURN_IF_ERROR(convert_to_gguf(*from, gguf, StoredType::Q8_0));
  }
  std::vector<double> mapped;
  std::vector<double> raw;
  std::vector<double> unpacked;
  std::vector<double> rate;
  uint64_t bytes = 0;
  for (int i = 0; i <= kRepeats; ++i) {
    ASSIGN_OR_RETURN(const double ours, seconds([&] { return load(model, true, bytes); }));
    ASSIGN_OR_RETURN(const double theirs,
                     seconds([&] { return read_bytes(model + "/model.safetensors"); }));
    const double before = thread_seconds();
    ASSIGN_OR_RETURN(const double blocks, seconds([&] { return load(gguf, false, bytes); }));
    const double used = thread_seconds() - before;
    if (i == 0) continue;
    mapped.push_back(ours);
    raw.push_back(theirs);
    unpacked.push_back(blocks);
    rate.push_back(static_cast<double>(bytes) / used / 1e9);
  }
  auto safetensors = BenchResult::of("safetensors_seconds", mapped, "s");
  safetensors.peer = "read(2)";
  safetensors.peer_value = median(raw);
  safetensors.peer_repeats = raw;
  safetensors.goal = Goal::at_most_ratio(1.2);
  safetensors.note = "SmolLM2-135M bf16, every page touched";
  auto gguf_seconds = BenchResult::of("gguf_seconds", unpacked, "s");
  gguf_seconds.note = "SmolLM2-135M Q8_0 to floats, one thread";
  auto gguf_rate = BenchResult::of("gguf_gigabytes_per_second", rate, "GB/s");
  gguf_rate.goal = Goal::at_least_value(1);
  gguf_rate.note = "floats made per second of processor time, from opening to the last tensor";
  Report report{safetensors, gguf_seconds, gguf_rate};
  for (const auto type : {StoredType::Q4_0, StoredType::Q4_1, StoredType::Q5_0, StoredType::Q5_1,
                          StoredType::Q8_0, StoredType::Q4K, StoredType::Q5K, StoredType::Q6K}) {
    std::vector<double> rates;
    for (int i = 0; i < kRepeats; ++i) rates.push_back(kernel_rate(type));
    auto kernel = BenchResult::of(fmt::format("unpack_{}", name(type)), rates, "GB/s");
    kernel.goal = Goal::at_least_value(1);
    report.push_back(std::move(kernel));
  }
  return report;
}

}  // namespace sluice::bench
