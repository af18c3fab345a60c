#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// One row, by column. Numbers and truth values are kept as their JSON text,
/// lists and objects as compact JSON.
struct TableRow {
  struct Cell {
    std::string text;
    bool is_text = true;  ///< false: `text` is JSON
  };
  int64_t line = 0;  ///< where it begins, from 1
  std::map<std::string, Cell, std::less<>> cells;
  Status problem;        ///< why the row could not be read, with `reason`
  std::string reason{};  ///< one of a few words, to count by
};

/// The rows of a file of JSON lines, one after the other.
class JsonLines {
 public:
  explicit JsonLines(std::string_view content);
  /// False at the end.
  bool next(TableRow& row);

 private:
  std::string_view rest_;
  int64_t line_ = 0;
};

/// The rows of a CSV file.
class CsvRows {
 public:
  explicit CsvRows(std::string_view content);
  /// The names in the header; InvalidArgument when it is empty, unreadable or names one twice.
  Result<std::vector<std::string>> header();
  /// False at the end. Call header() first.
  bool next(TableRow& row);

 private:
  Status cells(std::vector<std::string>& out);

  std::string_view rest_;
  int64_t line_ = 1;
  std::vector<std::string> names_;
};

/// True when all of the text is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace sluice
