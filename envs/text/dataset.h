#pragma once
#include "envs/text/task.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice {

/// What to do with a row that cannot be used.
enum class OnBadRow : uint8_t {
  Error,  ///< refuse the whole file, naming the first bad row
  Skip,   ///< leave it out, counted by reason
};

/// How a file of prompts becomes problems. The content is handed in: environments open no files.
struct DatasetOptions {
  std::string path{};     ///< for messages; ".csv" at its end means CSV, all else JSON lines
  std::string content{};  ///< the bytes of that file

  // Which column is what. An empty name: there is none.
  std::string prompt = "prompt";  ///< a text, or a list of {"role", "content"} (JSON only)
  std::string answer = "answer";
  std::string id{};  ///< must differ from row to row; kept as field "id"

  std::string system{};  ///< a system turn in front of every prompt that is a text
  std::string suffix{};  ///< put behind every prompt that is a text

  // Filters. What they leave out is counted, but no error.
  int64_t min_chars = 0;             ///< of the last turn, in code points
  int64_t max_chars = 0;             ///< 0: no limit
  std::vector<std::string> where{};  ///< each "column=value" or "column!=value" must hold
  int64_t limit = 0;                 ///< stop after so many used rows; 0: none

  OnBadRow on_bad_row = OnBadRow::Error;
};

/// What became of the rows: rows = used + all dropped.
struct DatasetReport {
  int64_t rows = 0;
  int64_t used = 0;
  std::map<std::string, int64_t> dropped;  ///< by reason
  std::vector<std::string> examples;       ///< of bad rows, at most 10: "file:line: what"

  /// "7 of 9 rows used; dropped: bad JSON 1, empty prompt 1".
  [[nodiscard]] std::string to_string() const;
};

struct Dataset {
  std::vector<TextProblem> problems;  ///< ids are their places here
  DatasetReport report;
};

/// Reads JSON lines (one object a line; blank lines are none) or CSV (RFC 4180 with a header line;
/// a quoted cell may hold line ends). Columns other than prompt, answer and id become fields, as
/// text. Bad rows: JSON or CSV that does not parse, a missing column, a value of the wrong type, an
/// empty prompt, bad UTF-8, an id seen before. Errors name file and line. A header without a wanted
/// column refuses the file whatever `on_bad_row` says. A file of which no row can be used is
/// InvalidArgument.
Result<Dataset> read_dataset(const DatasetOptions& options);

}  // namespace sluice
