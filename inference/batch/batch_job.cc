#include "inference/batch/batch_job.h"

#include "dataflow/base/random.h"

#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::error_code failed;
  if (!file.is_open() || file.bad() || std::filesystem::is_directory(path, failed))
    return error(Code::NotFound, "{}: cannot be read", path);
  return text.str();
}

/// The objects of a file, one a line; empty lines are passed over.
Result<std::vector<Json>> read_lines(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_all(path));
  std::vector<Json> lines;
  std::istringstream stream(text);
  std::string line;
  for (int64_t number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return invalid_argument("{}:{}: not a JSON object", path, number);
    lines.push_back(std::move(json));
  }
  return lines;
}

/// `like`: the sample that this one was pruned for; -1: none.
Json line_of(int64_t index, const Sample& sample, int32_t like) {
  Json json;
  json["index"] = index;
  json["sample"] = sample.index;
  json["text"] = sample.text;
  json["token_ids"] = sample.tokens;
  json["logprobs"] = sample.logprobs;
  json["finish_reason"] = like < 0 ? name(sample.reason) : "pruned";
  if (like >= 0) json["like"] = like;
  json["versions"] = Json::array();
  for (const VersionRun& run : sample.versions) {
    json["versions"].push_back(Json::array({run.start, run.version.to_string()}));
  }
  if (!sample.error.ok()) json["error"] = sample.error.message();
  return json;
}

/// The output file, written at its end. Nobody else's as long as this lives.
class Output {
 public:
  /// Creates it when it is not there; changes nothing else.
  static Result<Output> open(const std::string& path) {
    Output out;
    out.path_ = path;
    out.file_.reset(std::fopen(path.c_str(), "ab"));
    if (!out.file_) return error(Code::Unavailable, "{}: {}", path, std::strerror(errno));
    // Two runs that write to one file would mix their lines.
    if (::flock(::fileno(out.file_.get()), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return error(Code::FailedPrecondition, "{}: another run writes to it", path);
    }
    return out;
  }

  /// Whether it has content that can be gone on with; devices and pipes have none.
  [[nodiscard]] bool keeps() const {
    std::error_code failed;
    return std::filesystem::is_regular_file(path_, failed);
  }
  /// Forgets what lies behind the first `bytes`.
  Status cut(int64_t bytes) {
    if (::ftruncate(::fileno(file_.get()), bytes) == 0) return {};
    return error(Code::Unavailable, "{}: {}", path_, std::strerror(errno));
  }

  Status write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() &&
        std::fflush(file_.get()) == 0) {
      return {};
    }
    return error(Code::ResourceExhausted, "{}: {}", path_, std::strerror(errno));
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Whether a line is what this job writes for this sample.
bool is_sample(const Json& json, int64_t index, int64_t sample) {
  const auto equals = [&](const char* key, int64_t want) {
    const auto at = json.find(key);
    return at != json.end() && at->is_number_integer() && at->get<int64_t>() == want;
  };
  return json.is_object() && equals("index", index) && equals("sample", sample);
}

/// The samples of one prompt that are watched while they come.
class Watched {
 public:
  Watched(const PruneOptions& options, int32_t samples)
      : after_(options.after),
        pruner_(options, samples),
        beginnings_(static_cast<size_t>(samples)),
        like_(static_cast<size_t>(samples), -1) {}

  /// The samples that need not go on.
  std::vector<int32_t> add(const TokenEvent& event) {
    const auto sample = static_cast<int32_t>(event.sample);
    Beginning& beginning = beginnings_[event.sample];
    if (beginning.tokens < after_) {
      ++beginning.tokens;
      beginning.text += event.text;
    }
    beginning.ended = event.finish != FinishReason::None;
    auto found = pruner_.add(sample, event.token.token);
    if (beginning.ended) {
      const auto more = pruner_.end(sample);
      found.insert(found.end(), more.begin(), more.end());
    }
    std::vector<int32_t> over;
    for (const auto& duplicate : found) {
      like_[static_cast<size_t>(duplicate.sample)] = duplicate.of;
      if (!beginnings_[static_cast<size_t>(duplicate.sample)].ended)
        over.push_back(duplicate.sample);
    }
    return over;
  }

  /// Cuts a pruned sample to what it was judged by: how far it came meanwhile is chance.
  void cut(Sample& sample) const {
    if (like_[sample.index] < 0) return;
    const auto size = static_cast<size_t>(after_);
    sample.tokens.resize(size);
    sample.logprobs.resize(size);
    std::erase_if(sample.versions, [&](const VersionRun& run) { return run.start >= after_; });
    sample.text = beginnings_[sample.index].text;
  }
  [[nodiscard]] const std::vector<int32_t>& like() const noexcept { return like_; }

 private:
  struct Beginning {
    int64_t tokens = 0;
    std::string text;
    bool ended = false;
  };
  int64_t after_;
  TracePruner pruner_;
  std::vector<Beginning> beginnings_;
  std::vector<int32_t> like_;
};

class Job {
 public:
  Job(Engine& engine, const BatchOptions& options, const EncodePrompt& encode, Output output)
      : engine_(engine), options_(options), encode_(encode), output_(std::move(output)) {}

  Status run(const std::vector<Json>& lines, BatchProgress& progress,
             const std::function<void(const BatchProgress&)>& told) {
    int64_t next = progress.done;
    while (progress.done < progress.prompts) {
      while (next < progress.prompts && next - progress.done < options_.ahead) {
        if (!submit(next, lines[static_cast<size_t>(next)])) break;
        ++next;
      }
      RETURN_IF_ERROR(engine_.step());
      RETURN_IF_ERROR(write_ready(progress));
      progress.tokens = tokens_;
      if (told) told(progress);
    }
    return {};
  }

 private:
  void fail(int64_t index, const Status& why) {
    std::vector<Sample>& samples = ready_[index];
    for (int32_t i = 0; i < options_.sampling.n; ++i) {
      Sample& sample = samples.emplace_back();
      sample.index = static_cast<uint32_t>(i);
      sample.reason = FinishReason::Failed;
      sample.error = why;
    }
  }

  /// False: too many wait, try again later.
  bool submit(int64_t index, const Json& line) {
    auto prompt = encode_(line);
    if (!prompt.ok()) {
      fail(index, prompt.status());
      return true;
    }
    GenRequest request;
    request.prompt = *std::move(prompt);
    request.sampling = options_.sampling;
    request.sampling.seed =
        RandomKey(options_.seed).split("prompt").word(static_cast<uint64_t>(index));
    request.constraint = options_.constraint;
    request.order = index;
    GenListener listener;
    std::shared_ptr<Watched> watched;
    if (options_.prune.after > 0 && options_.sampling.n > 1) {
      watched = std::make_shared<Watched>(options_.prune, options_.sampling.n);
    }
    listener.on_token = [this, watched](const TokenEvent& event) {
      ++tokens_;
      if (!watched) return;
      for (const int32_t sample : watched->add(event)) {
        static_cast<void>(
            engine_.finish(event.request, static_cast<uint32_t>(sample), FinishReason::Abort));
      }
    };
    listener.on_done = [this, index, watched](Completion done) {
      if (watched) {
        for (Sample& sample : done.samples) watched->cut(sample);
        like_[index] = watched->like();
      }
      ready_[index] = std::move(done.samples);
    };
    const auto id = engine_.submit(std::move(request), std::move(listener));
    if (id.status().code() == Code::Unavailable) return false;
    if (!id.ok()) fail(index, id.status());
    return true;
  }

  Status write_ready(BatchProgress& progress) {
    for (auto it = ready_.find(progress.done); it != ready_.end();
         it = ready_.find(progress.done)) {
      std::string text;
      bool failed = false;
      const std::vector<int32_t> like = like_[progress.done];
      like_.erase(progress.done);
      for (const Sample& sample : it->second) {
        failed = failed || sample.reason == FinishReason::Failed;
        const int32_t of = like.empty() ? -1 : like[sample.index];
        progress.pruned += of < 0 ? 0 : 1;
        text += line_of(progress.done, sample, of)
                    .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        text += '\n';
      }
      RETURN_IF_ERROR(output_.write(text));
      progress.failed += failed ? 1 : 0;
      ready_.erase(it);
      ++progress.done;
    }
    return {};
  }

  Engine& engine_;
  const BatchOptions& options_;
  const EncodePrompt& encode_;
  Output output_;
  std::map<int64_t, std::vector<Sample>> ready_;
  std::map<int64_t, std::vector<int32_t>> like_;  ///< of those, where samples are pruned
  int64_t tokens_ = 0;
};

}  // namespace

Result<BatchResume> find_resume(std::string_view content, int32_t samples) {
  BatchResume resume;
  int64_t line = 0;
  for (size_t begin = 0; begin < content.size(); ++line) {
    const int64_t index = line / samples;
    const int64_t sample = line % samples;
    const size_t end = content.find('\n', begin);
    const std::string_view text = content.substr(begin, end - begin);
    bool ours = false;
    if (end == std::string_view::npos) {
      // Cut in the middle: what is there must be the beginning of a line of ours all the same.
      const std::string head = fmt::format(R"({{"index":{},"sample":{},"text":)", index, sample);
      const size_t n = std::min(head.size(), text.size());
      ours = text.substr(0, n) == head.substr(0, n);
    } else {
      ours = is_sample(Json::parse(text, nullptr, false), index, sample);
    }
    if (!ours) {
      return invalid_argument("line {} is not sample {} of prompt {}: made by another run",
                              line + 1, sample, index);
    }
    if (end == std::string_view::npos) break;
    begin = end + 1;
    if (sample == samples - 1) {
      ++resume.prompts;
      resume.bytes = static_cast<int64_t>(begin);
    }
  }
  return resume;
}

Result<BatchProgress> run_batch(Engine& engine, const BatchOptions& options,
                                const EncodePrompt& encode,
                                const std::function<void(const BatchProgress&)>& progress) {
  // A fault of all prompts must not become a file of failures.
  RETURN_IF_ERROR(engine.check_sampling(options.sampling));
  RETURN_IF_ERROR(check(options.prune));
  ASSIGN_OR_RETURN(const std::vector<Json> lines, read_lines(options.input));
  ASSIGN_OR_RETURN(Output output, Output::open(options.output));
  BatchProgress out;
  out.prompts = std::ssize(lines);
  if (output.keeps()) {
    ASSIGN_OR_RETURN(const std::string content, read_all(options.output));
    const auto found = find_resume(content, options.sampling.n);
    if (!found.ok()) return found.status().with_context(options.output);
    out.done = found->prompts;
    out.earlier = found->prompts;
    if (out.done > out.prompts) {
      return invalid_argument("{} has {} prompts, {} only {}", options.output, out.done,
                              options.input, out.prompts);
    }
    RETURN_IF_ERROR(output.cut(found->bytes));
  }
  Job job(engine, options, encode, std::move(output));
  const Status status = job.run(lines, out, progress);
  // What is under way refers to the job.
  if (!status.ok()) engine.abort_all();
  if (!status.ok()) return status;
  return out;
}

}  // namespace sluice
