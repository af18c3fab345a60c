#include "dataflow/base/config.h"
#include "dataflow/base/config_text.h"
#include "dataflow/base/files.h"

#include <fmt/ranges.h>
#include <toml.hpp>

#include <algorithm>
#include <sstream>

namespace sluice {
namespace {

/// Problems with the line they are on, so that they can be told in the order of the file.
using Problems = std::vector<std::pair<uint_least32_t, std::string>>;

std::string scalar_text(const toml::value& value) {
  switch (value.type()) {
    case toml::value_t::boolean:
      return value.as_boolean() ? "true" : "false";
    case toml::value_t::integer:
      return fmt::format("{}", value.as_integer());
    case toml::value_t::floating:
      return toml_double(value.as_floating());
    case toml::value_t::string:
      return value.as_string().str;
    default:
      return toml::format(value);
  }
}

std::string list_text(const toml::array& list) {
  std::string out = "[";
  for (const toml::value& item : list) {
    out += (out.size() > 1 ? ", " : "") + scalar_text(item);
  }
  return out + "]";
}

// toml11 says "[error] toml::parse_x: reason" and then draws the place over several lines.
std::string first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  constexpr std::string_view kTag = "[error] ";
  if (text.starts_with(kTag)) text.remove_prefix(kTag.size());
  if (text.starts_with("toml::")) {
    if (const size_t colon = text.find(": "); colon != std::string_view::npos) {
      text.remove_prefix(colon + 2);
    }
  }
  return std::string(text);
}

/// The parser calls itself for every level: far too many would overflow its stack. Counts brackets
/// and the dots of keys outside strings and comments.
bool nested_too_deeply(std::string_view text) {
  constexpr int kDeepest = 64;
  int depth = 0;
  int dots = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      dots = 0;
    } else if (c == '"' || c == '\'') {
      const std::string_view triple = c == '"' ? "\"\"\"" : "\'\'\'";
      const std::string_view mark = text.substr(i, 3) == triple ? triple : triple.substr(0, 1);
      for (i += mark.size(); i < text.size() && text.substr(i, mark.size()) != mark; ++i) {
        if (c == '"' && text[i] == '\\') ++i;
        if (mark.size() == 1 && i < text.size() && text[i] == '\n') break;
      }
      i += mark.size() - 1;
    } else if (c == '[' || c == '{') {
      ++depth;
      dots = 0;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == '.') {
      ++dots;
    } else if (c == '\n' || c == ',' || c == '=') {
      dots = 0;
    }
    if (depth > kDeepest || dots > kDeepest) return true;
  }
  return false;
}

/// The parser gives the largest number there is for one that is larger still.
bool beyond_range(const toml::value& value) {
  if (!value.is_integer()) return false;
  const int64_t got = value.as_integer();
  if (got != INT64_MAX && got != INT64_MIN) return false;
  std::string line = value.location().line_str();
  std::erase(line, '_');
  return line.find(fmt::format("{}", got)) == std::string::npos &&
         line.find("0x") == std::string::npos && line.find("0b") == std::string::npos &&
         line.find("0o") == std::string::npos;
}

}  // namespace

Status ConfigBinder::load_toml(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, read_file(path));
  if (nested_too_deeply(bytes)) {
    return invalid_argument("{}: not valid TOML: nested too deeply", path);
  }
  toml::value document;
  try {
    std::istringstream in(bytes);
    document = toml::parse(in, path);
  } catch (const toml::exception& e) {
    return invalid_argument("{}:{}: not valid TOML: {}", path, e.location().line(),
                            first_line(e.what()));
  } catch (const std::exception& e) {
    return invalid_argument("{}: not valid TOML: {}", path, first_line(e.what()));
  }

  Problems problems;
  const auto blame = [&](const toml::value& value, const Status& status) {
    if (status.ok()) return;
    const auto line = value.location().line();
    problems.emplace_back(line, fmt::format("{}:{}: {}", path, line, status.message()));
  };
  const std::vector<std::string> known = keys();
  const auto is_section = [&](const std::string& key) {
    return std::any_of(known.begin(), known.end(),
                       [&](const std::string& k) { return k.starts_with(key + "."); });
  };
  const auto load = [&](const auto& self, const std::string& prefix,
                        const toml::table& table) -> void {
    for (const auto& [name, value] : table) {
      const std::string key = prefix.empty() ? name : prefix + "." + name;
      const Field* field = find(key);
      if (field == nullptr && value.is_table() && (is_section(key) || !value.as_table().empty())) {
        self(self, key, value.as_table());
      } else if (field == nullptr && is_section(key)) {
        blame(value,
              invalid_argument("'{}' is a section, write [{}] and its keys below", key, key));
      } else if (field == nullptr) {
        blame(value, unknown(key));
      } else if (value.is_table()) {
        blame(value, invalid_argument("{} is a section, expected {}", key, expected(*field)));
      } else if (value.is_array() != std::holds_alternative<std::vector<int64_t>*>(field->target)) {
        const std::string text =
            value.is_array() ? list_text(value.as_array()) : scalar_text(value);
        blame(value, invalid_argument("{} = {} is not {}", key, text, expected(*field)));
      } else if (beyond_range(value)) {
        blame(value, invalid_argument("{} is too large, expected {}", key, expected(*field)));
      } else {
        blame(value,
              assign(*field, value.is_array() ? list_text(value.as_array()) : scalar_text(value)));
      }
    }
  };
  load(load, "", document.as_table());

  if (problems.empty()) return {};
  std::sort(problems.begin(), problems.end());
  std::vector<std::string> lines;
  for (auto& [line, text] : problems) lines.push_back(std::move(text));
  return {Code::InvalidArgument, fmt::format("{}", fmt::join(lines, "\n"))};
}

std::string ConfigBinder::to_toml() const {
  return to_toml([](const std::string&) { return true; });
}

std::string ConfigBinder::to_toml(const std::function<bool(const std::string& key)>& wanted) const {
  const auto section_of = [](const std::string& key) {
    const size_t dot = key.rfind('.');
    return dot == std::string::npos ? std::string() : key.substr(0, dot);
  };
  // Keys without a section must come first: TOML has no way back out of one.
  std::vector<std::string> sections{""};
  for (const Field& field : fields_) {
    if (!wanted(field.key)) continue;
    const std::string section = section_of(field.key);
    if (std::find(sections.begin(), sections.end(), section) == sections.end()) {
      sections.push_back(section);
    }
  }
  std::string out;
  for (const std::string& section : sections) {
    if (!section.empty()) out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section);
    for (const Field& field : fields_) {
      if (section_of(field.key) != section || !wanted(field.key)) continue;
      std::istringstream doc(field.doc);
      for (std::string line; std::getline(doc, line);) out += "# " + line + "\n";
      const std::string name = section.empty() ? field.key : field.key.substr(section.size() + 1);
      out += fmt::format("{} = {}  # {}\n", name, value_text(field), expected(field));
    }
  }
  return out;
}

}  // namespace sluice
