#include "envs/text/table_rows.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kMaxLine = size_t{16} << 20;

std::string_view without_mark(std::string_view content) {
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  return content;
}

void refuse(TableRow& row, const char* reason, Status problem) {
  row.reason = reason;
  row.problem = std::move(problem);
}

void read_json(std::string_view line, TableRow& row) {
  if (line.size() > kMaxLine) {
    refuse(row, "bad JSON",
           invalid_argument("a line of {} bytes; at most {}", line.size(), kMaxLine));
    return;
  }
  if (!is_utf8(line)) {
    refuse(row, "bad UTF-8", invalid_argument("the line is not valid UTF-8"));
    return;
  }
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(line);
  } catch (const nlohmann::json::exception& problem) {
    refuse(row, "bad JSON", invalid_argument("{}", problem.what()));
    return;
  }
  if (!value.is_object()) {
    refuse(row, "bad JSON", invalid_argument("a row must be a JSON object"));
    return;
  }
  for (auto& [name, cell] : value.items()) {
    if (cell.is_null()) continue;  // as if it were not there
    if (cell.is_string()) {
      row.cells[name] = {std::move(cell.get_ref<std::string&>()), true};
    } else {
      row.cells[name] = {cell.dump(), false};
    }
  }
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    const unsigned lead = byte(i);
    const size_t more = lead < 0x80   ? 0
                        : lead < 0xC2 ? 9
                        : lead < 0xE0 ? 1
                        : lead < 0xF0 ? 2
                        : lead < 0xF5 ? 3
                                      : 9;
    if (more == 9 || i + more >= text.size()) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    }
    // Overlong forms, surrogates, beyond U+10FFFF.
    const unsigned second = more > 0 ? byte(i + 1) : 0;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

JsonLines::JsonLines(std::string_view content) : rest_(without_mark(content)) {}

bool JsonLines::next(TableRow& row) {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    row = TableRow{};
    row.line = line_;
    read_json(line, row);
    return true;
  }
  return false;
}

CsvRows::CsvRows(std::string_view content) : rest_(without_mark(content)) {}

Result<std::vector<std::string>> CsvRows::header() {
  RETURN_IF_ERROR(cells(names_));
  std::map<std::string, int> seen;
  for (const std::string& name : names_) {
    if (!is_utf8(name)) return invalid_argument("the header is not valid UTF-8");
    if (++seen[name] > 1) return invalid_argument("the header names column '{}' twice", name);
  }
  if (names_.empty() || (names_.size() == 1 && names_[0].empty())) {
    return invalid_argument("there is no header line");
  }
  return names_;
}

bool CsvRows::next(TableRow& row) {
  while (rest_.starts_with('\n') || rest_.starts_with("\r\n")) {
    rest_.remove_prefix(rest_[0] == '\n' ? 1 : 2);
    ++line_;
  }
  if (rest_.empty()) return false;
  row = TableRow{};
  row.line = line_;
  std::vector<std::string> values;
  if (Status problem = cells(values); !problem.ok()) {
    refuse(row, "bad CSV", std::move(problem));
    return true;
  }
  if (values.size() != names_.size()) {
    refuse(row, "bad CSV",
           invalid_argument("{} cells where the header has {}", values.size(), names_.size()));
    return true;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_utf8(values[i])) {
      refuse(row, "bad UTF-8", invalid_argument("column '{}' is not valid UTF-8", names_[i]));
    }
    row.cells[names_[i]] = {std::move(values[i]), true};
  }
  return true;
}

// One record. After a quote that never closes nothing is left to read.
Status CsvRows::cells(std::vector<std::string>& out) {
  out.assign(1, "");
  bool quoted = false;
  bool was_quoted = false;
  size_t at = 0;
  Status problem;
  for (; at < rest_.size(); ++at) {
    const char c = rest_[at];
    if (c == '\n') ++line_;
    if (quoted) {
      if (c != '"') {
        out.back() += c;
      } else if (at + 1 < rest_.size() && rest_[at + 1] == '"') {
        out.back() += '"';
        ++at;
      } else {
        quoted = false;
      }
    } else if (c == ',') {
      out.emplace_back();
      was_quoted = false;
    } else if (c == '\n') {
      break;
    } else if (c == '\r' && at + 1 < rest_.size() && rest_[at + 1] == '\n') {
      continue;
    } else if (c == '"' && out.back().empty() && !was_quoted) {
      quoted = was_quoted = true;
    } else if (c == '"' || was_quoted) {
      if (problem.ok()) problem = invalid_argument("a quote in the middle of cell {}", out.size());
    } else {
      out.back() += c;
    }
  }
  rest_.remove_prefix(std::min(at + 1, rest_.size()));
  if (quoted) return invalid_argument("a quoted cell never closes");
  return problem;
}

}  // namespace sluice
