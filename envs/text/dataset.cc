#include "envs/text/dataset.h"

#include "dataflow/base/nearest.h"
#include "envs/text/answer.h"
#include "envs/text/table_rows.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice {
namespace {

constexpr size_t kMaxExamples = 10;

struct Bad {
  std::string reason;
  std::string what;
};

struct Condition {
  std::string column;
  std::string value;
  bool equal = true;
};

Result<std::vector<Condition>> conditions(const DatasetOptions& options) {
  std::vector<Condition> out;
  for (const std::string& text : options.where) {
    const size_t equals = text.find('=');
    const bool unequal = equals != std::string::npos && equals > 0 && text[equals - 1] == '!';
    const size_t end = unequal ? equals - 1 : equals;
    if (equals == std::string::npos || end == 0) {
      return invalid_argument("filter '{}' is neither COLUMN=VALUE nor COLUMN!=VALUE", text);
    }
    out.push_back({text.substr(0, end), text.substr(equals + 1), !unequal});
  }
  return out;
}

int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

// Turns from a JSON list. Empty with a reason in `bad` when it is none.
std::vector<ChatTurn> turns_of(const std::string& text, Bad& bad) {
  std::vector<ChatTurn> out;
  const auto list = nlohmann::json::parse(text, nullptr, false);
  bool good = list.is_array() && !list.empty();
  for (const auto& turn : good ? list : nlohmann::json::array()) {
    good = good && turn.is_object() && turn.contains("role") && turn["role"].is_string() &&
           turn.contains("content") && turn["content"].is_string();
    if (!good) break;
    out.push_back({turn["role"].get<std::string>(), turn["content"].get<std::string>()});
  }
  if (good) return out;
  bad = {"wrong type", "the prompt is neither a text nor a list of {\"role\", \"content\"}"};
  return {};
}

class DatasetReader {
 public:
  DatasetReader(const DatasetOptions& options, std::vector<Condition> where)
      : options_(options), where_(std::move(where)) {}

  Result<Dataset> run() {
    if (!options_.path.ends_with(".csv")) {
      JsonLines rows(options_.content);
      RETURN_IF_ERROR(read(rows));
    } else {
      CsvRows rows(options_.content);
      const auto header = rows.header();
      if (!header.ok()) return header.status().with_context(place(1));
      RETURN_IF_ERROR(check_header(*header));
      RETURN_IF_ERROR(read(rows));
    }
    if (out_.problems.empty()) {
      return invalid_argument("{}: no row can be used: {}", shown_path(), out_.report.to_string());
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string shown_path() const {
    return options_.path.empty() ? "dataset" : options_.path;
  }
  [[nodiscard]] std::string place(int64_t line) const {
    return fmt::format("{}:{}", shown_path(), line);
  }

  [[nodiscard]] std::vector<std::string> wanted_columns() const {
    std::vector<std::string> out;
    for (const auto& name : {options_.prompt, options_.answer, options_.id}) {
      if (!name.empty()) out.push_back(name);
    }
    for (const Condition& condition : where_) out.push_back(condition.column);
    return out;
  }

  [[nodiscard]] Status check_header(const std::vector<std::string>& header) const {
    for (const std::string& name : wanted_columns()) {
      if (std::find(header.begin(), header.end(), name) == header.end()) {
        return invalid_argument("{}: no column '{}'{} There are: {}", place(1), name,
                                ended(did_you_mean(name, header)), fmt::join(header, ", "));
      }
    }
    return {};
  }
  static std::string ended(const std::string& near) { return near.empty() ? "." : near; }

  template <class Rows>
  Status read(Rows& rows) {
    TableRow row;
    while ((options_.limit == 0 || out_.report.used < options_.limit) && rows.next(row)) {
      ++out_.report.rows;
      Bad bad;
      TextProblem problem = problem_of(row, bad);
      if (!bad.reason.empty()) {
        const std::string what = fmt::format("{}: {}", place(row.line), bad.what);
        if (options_.on_bad_row == OnBadRow::Error) return Status(Code::InvalidArgument, what);
        ++out_.report.dropped[bad.reason];
        if (out_.report.examples.size() < kMaxExamples) out_.report.examples.push_back(what);
        continue;
      }
      if (const char* filter = left_out_by(row, problem)) {
        ++out_.report.dropped[filter];
        continue;
      }
      problem.id = out_.report.used++;
      out_.problems.push_back(std::move(problem));
    }
    return {};
  }

  // What is left of a bad row has no use.
  TextProblem problem_of(TableRow& row, Bad& bad) {
    TextProblem out;
    if (!row.reason.empty()) {
      bad = {row.reason, row.problem.message()};
      return out;
    }
    for (const std::string& name : wanted_columns()) {
      if (row.cells.contains(name)) continue;
      std::vector<std::string> known;
      for (const auto& [known_name, cell] : row.cells) known.push_back(known_name);
      bad = {"missing column",
             fmt::format("no column '{}'{} There are: {}", name, ended(did_you_mean(name, known)),
                         fmt::join(known, ", "))};
      return out;
    }
    const TableRow::Cell& prompt = row.cells[options_.prompt];
    if (prompt.is_text) {
      if (!options_.system.empty()) out.messages.push_back({"system", options_.system});
      out.messages.push_back({"user", prompt.text + options_.suffix});
    } else {
      out.messages = turns_of(prompt.text, bad);
      if (!bad.reason.empty()) return out;
    }
    if (trimmed(prompt.is_text ? prompt.text : out.messages.back().content).empty()) {
      bad = {"empty prompt", "the prompt is empty"};
      return out;
    }
    if (!options_.id.empty()) {
      const std::string& id = row.cells[options_.id].text;
      if (const auto [first, added] = ids_.try_emplace(id, row.line); !added) {
        bad = {"duplicate id",
               fmt::format("id '{}' was seen before, in line {}", id, first->second)};
        return out;
      }
      out.fields["id"] = id;
    }
    if (!options_.answer.empty()) out.answer = row.cells[options_.answer].text;
    for (const auto& [name, cell] : row.cells) {
      if (name != options_.prompt && name != options_.answer && name != options_.id) {
        out.fields.emplace(name, cell.text);
      }
    }
    return out;
  }

  // The filter that leaves a good row out, or null.
  const char* left_out_by(const TableRow& row, const TextProblem& problem) const {
    for (const Condition& condition : where_) {
      const bool equal = row.cells.find(condition.column)->second.text == condition.value;
      if (equal != condition.equal) return "filter";
    }
    const int64_t length = characters(problem.messages.back().content);
    if (length < options_.min_chars) return "too short";
    if (options_.max_chars > 0 && length > options_.max_chars) return "too long";
    return nullptr;
  }

  const DatasetOptions& options_;
  std::vector<Condition> where_;
  std::map<std::string, int64_t> ids_;  // to the line it was first seen in
  Dataset out_;
};

}  // namespace

std::string DatasetReport::to_string() const {
  std::string out = fmt::format("{} of {} rows used", used, rows);
  const char* between = "; dropped: ";
  for (const auto& [reason, count] : dropped) {
    out += fmt::format("{}{} {}", between, reason, count);
    between = ", ";
  }
  return out;
}

Result<Dataset> read_dataset(const DatasetOptions& options) {
  if (options.prompt.empty())
    return invalid_argument("a dataset needs the name of its prompt column");
  ASSIGN_OR_RETURN(std::vector<Condition> where, conditions(options));
  return DatasetReader(options, std::move(where)).run();
}

}  // namespace sluice
