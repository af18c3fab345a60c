// Megabytes per second of text to ids and of ids to text, one thread, SmolLM2's tokenizer as
// `sluice fetch smollm2` gives it, or the file or folder that SLUICE_BENCH_TOKENIZER names. The
// text is this source tree's own pages, sources and scripts, every eighth chunk from the
// many-script samples of the tokenizer's tests; chunks of about 4 KiB, each encoded by a call of
// its own. The peer gets the same file and the same chunks, its parallelism off.
#include "bench/peer.h"
#include "bench/programs.h"
#include "dataflow/base/files.h"
#include "models/io/model_cache.h"
#include "models/tokenizer/tokenizer.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRepeats = 5;
constexpr size_t kTextBytes = size_t{4} << 20;
constexpr size_t kChunkBytes = 4096;

/// Whole lines of about kChunkBytes.
void cut(const std::string& text, std::vector<std::string>& chunks) {
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(at + kChunkBytes, text.size());
    const size_t line = text.rfind('\n', end);
    if (end < text.size() && line != std::string::npos && line > at) end = line + 1;
    if (end < text.size() && (text[end] & 0xC0) == 0x80) end = text.find('\n', end);
    end = std::min(end, text.size());
    chunks.push_back(text.substr(at, end - at));
    at = end;
  }
}

Result<std::vector<std::string>> mixed_text(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"docs", "dataflow", "models", "workers", "algorithms", "scripts"}) {
    std::error_code failed;
    for (fs::recursive_directory_iterator at(root / folder, failed), end; at != end; ++at) {
      const auto kind = at->path().extension();
      if (kind == ".md" || kind == ".h" || kind == ".cc" || kind == ".py") files.push_back(*at);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> plain;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::string text, read_file(file.string()));
    cut(text, plain);
  }
  ASSIGN_OR_RETURN(const std::string samples,
                   read_file((root / "models/tokenizer/testdata/tokenizer_styles.py").string()));
  std::vector<std::string> scripts;
  cut(samples, scripts);
  if (plain.empty()) return error(Code::NotFound, "no text in {}", root.string());
  std::vector<std::string> mixed;
  size_t bytes = 0;
  for (size_t i = 0; bytes < kTextBytes; ++i) {
    mixed.push_back(i % 8 == 7 ? scripts[i / 8 % 2] : plain[i % plain.size()]);
    bytes += mixed.back().size();
  }
  return mixed;
}

/// The chunks in a file of their own for the peer, gone at the end.
class ChunkFile {
 public:
  explicit ChunkFile(const std::vector<std::string>& chunks)
      : path_((fs::temp_directory_path() / fmt::format("sluice-tokenize-{}.bin", getpid()))
                  .string()) {
    std::string bytes;
    for (const std::string& chunk : chunks) {
      const auto size = static_cast<uint32_t>(chunk.size());
      bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
      bytes += chunk;
    }
    status_ = write_file_synced(path_, bytes);
  }
  ~ChunkFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  Status status_;
};

struct Rates {
  std::vector<double> encode;  ///< MB/s
  std::vector<double> decode;
};

Status measure(const Tokenizer& tokenizer, const std::vector<std::string>& chunks, int repeats,
               Rates& rates) {
  using Clock = std::chrono::steady_clock;
  const auto rate = [](size_t bytes, Clock::time_point from, Clock::time_point to) {
    return static_cast<double>(bytes) / 1e6 / std::chrono::duration<double>(to - from).count();
  };
  for (int i = 0; i < repeats; ++i) {
    std::vector<std::vector<TokenId>> ids;
    ids.reserve(chunks.size());
    size_t in = 0;
    const auto begin = Clock::now();
    for (const std::string& chunk : chunks) {
      auto encoded = tokenizer.encode(chunk);
      if (!encoded.ok()) return encoded.status();
      ids.push_back(*std::move(encoded));
      in += chunk.size();
    }
    const auto middle = Clock::now();
    size_t out = 0;
    for (const auto& chunk : ids) out += tokenizer.decode(chunk, {false}).size();
    const auto end = Clock::now();
    if (in != out) return error(Code::Internal, "{} bytes went in and {} came out", in, out);
    rates.encode.push_back(rate(in, begin, middle));
    rates.decode.push_back(rate(out, middle, end));
  }
  return {};
}

}  // namespace

Result<Report> run_tokenize(const BenchOptions& options) {
  const char* const given = std::getenv("SLUICE_BENCH_TOKENIZER");
  ASSIGN_OR_RETURN(const std::string model, resolve_model(given != nullptr ? given : "smollm2"));
  ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::load(model));
  const fs::path peers = options.peers_dir.empty() ? SLUICE_PEERS_DIR : options.peers_dir;
  ASSIGN_OR_RETURN(const auto chunks, mixed_text(peers.parent_path().parent_path()));
  Rates ours;
  Rates warm_up;
  RETURN_IF_ERROR(measure(*tokenizer, chunks, 1, warm_up));
  RETURN_IF_ERROR(measure(*tokenizer, chunks, kRepeats, ours));
  Report report;
  const std::string file =
      fs::is_directory(model) ? (fs::path(model) / "tokenizer.json").string() : model;
  const ChunkFile chunk_file(chunks);
  RETURN_IF_ERROR(chunk_file.status());
  for (const char* what : {"encode", "decode"}) {
    std::optional<PeerResult> peer;
    if (!options.peer_python.empty()) {
      ASSIGN_OR_RETURN(
          peer, run_peer(options, "hf_tokenize.py",
                         {"--tokenizer", file, "--chunks", chunk_file.path(), "--what", what}));
      RETURN_IF_ERROR(measure(*tokenizer, chunks, kRepeats, ours));
    }
    const bool encode = std::string_view(what) == "encode";
    auto row =
        BenchResult::of(fmt::format("{}_rate", what), encode ? ours.encode : ours.decode, "MB/s");
    row.goal = Goal::at_least_ratio(2);
    row.note = fmt::format("{} chunks", chunks.size());
    if (peer) {
      row.peer = peer->peer + " " + peer->version;
      row.peer_value = peer->value;
      row.peer_repeats = peer->repeats;
    }
    report.push_back(std::move(row));
  }
  return report;
}

}  // namespace sluice::bench
