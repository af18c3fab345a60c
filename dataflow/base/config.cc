#include "dataflow/base/config.h"

#include "dataflow/base/config_text.h"
#include "dataflow/base/nearest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

// Lets one visitor be written as a list of lambdas.
template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

std::string range_text(const Range& range) {
  const auto finite = [](double x) { return std::isfinite(x); };
  return fmt::format("{}{}, {}{}", finite(range.low) ? '[' : '(', range.low, range.high,
                     finite(range.high) ? ']' : ')');
}

bool bounded(const Range& range) { return std::isfinite(range.low) || std::isfinite(range.high); }

bool inside(double value, const Range& range) { return value >= range.low && value <= range.high; }

Status out_of_range(std::string_view key, std::string_view value, const Range& range) {
  return invalid_argument("{} = {} is out of range {}", key, value, range_text(range));
}

Status not_a(std::string_view key, std::string_view text, std::string_view what) {
  return invalid_argument("{} = '{}' is not {}", key, text, what);
}

Status check_double(std::string_view key, double value, const Range& range) {
  if (std::isnan(value)) return not_a(key, "nan", "a number");
  if (!inside(value, range)) return out_of_range(key, fmt::format("{}", value), range);
  return {};
}

Status check_int(std::string_view key, int64_t value, const Range& range) {
  if (inside(static_cast<double>(value), range)) return {};
  return out_of_range(key, fmt::format("{}", value), range);
}

Status check_list(std::string_view key, const std::vector<int64_t>& values, const Range& range) {
  for (size_t i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(check_int(fmt::format("{}[{}]", key, i), values[i], range));
  }
  return {};
}

Status check_choice(std::string_view key, const std::string& value,
                    const std::vector<std::string>& choices) {
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end())
    return {};
  return invalid_argument("{} = '{}' is not one of {}{}", key, value, fmt::join(choices, ", "),
                          did_you_mean(value, choices));
}

}  // namespace

void ConfigBinder::field(std::string key, bool& value, std::string doc) {
  add({prefix_ + key, &value, std::move(doc), {}, {}});
}

void ConfigBinder::field(std::string key, int64_t& value, std::string doc, Range range) {
  add({prefix_ + key, &value, std::move(doc), range, {}});
}

void ConfigBinder::field(std::string key, double& value, std::string doc, Range range) {
  add({prefix_ + key, &value, std::move(doc), range, {}});
}

void ConfigBinder::field(std::string key, std::string& value, std::string doc,
                         std::vector<std::string> choices) {
  add({prefix_ + key, &value, std::move(doc), {}, std::move(choices)});
}

void ConfigBinder::field(std::string key, std::vector<int64_t>& value, std::string doc,
                         Range range) {
  add({prefix_ + key, &value, std::move(doc), range, {}});
}

size_t ConfigBinder::enter(std::string_view key) {
  const size_t before = prefix_.size();
  prefix_.append(key).append(1, '.');
  return before;
}

void ConfigBinder::add(Field field) {
  SLUICE_CHECK(find(field.key) == nullptr) << "key '" << field.key << "' is bound twice";
  fields_.push_back(std::move(field));
}

const ConfigBinder::Field* ConfigBinder::find(std::string_view key) const {
  for (const Field& field : fields_) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

Status ConfigBinder::unknown(std::string_view key) const {
  if (skip_unknown_) return {};
  return invalid_argument("unknown key '{}'{}", key, did_you_mean(key, keys()));
}

Status ConfigBinder::set(std::string_view key, std::string_view text, std::string_view origin) {
  const Field* field = find(key);
  return (field == nullptr ? unknown(key) : assign(*field, text)).with_context(origin);
}

Status ConfigBinder::set(std::string_view assignment, std::string_view origin) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return invalid_argument("{}: '{}' is not of the form key=value", origin, assignment);
  }
  return set(trim(assignment.substr(0, equals)), trim(assignment.substr(equals + 1)), origin);
}

Status ConfigBinder::assign(const Field& field, std::string_view text) {
  RETURN_IF_ERROR(parse(field, text));
  if (std::find(given_.begin(), given_.end(), field.key) == given_.end())
    given_.push_back(field.key);
  return {};
}

Status ConfigBinder::parse(const Field& field, std::string_view text) {
  const std::string& key = field.key;
  return std::visit(Cases{[&](bool* value) -> Status {
                            const auto parsed = parse_bool(text);
                            if (!parsed) return not_a(key, text, "true or false");
                            *value = *parsed;
                            return {};
                          },
                          [&](int64_t* value) -> Status {
                            const auto parsed = parse_int(text);
                            if (!parsed) return not_a(key, text, "a whole number");
                            RETURN_IF_ERROR(check_int(key, *parsed, field.range));
                            *value = *parsed;
                            return {};
                          },
                          [&](double* value) -> Status {
                            const auto parsed = parse_double(text);
                            if (!parsed) return not_a(key, text, "a number");
                            RETURN_IF_ERROR(check_double(key, *parsed, field.range));
                            *value = *parsed;
                            return {};
                          },
                          [&](std::string* value) -> Status {
                            std::string wanted(text);
                            RETURN_IF_ERROR(check_choice(key, wanted, field.choices));
                            *value = std::move(wanted);
                            return {};
                          },
                          [&](std::vector<int64_t>* value) -> Status {
                            auto parsed = parse_int_list(text);
                            if (!parsed)
                              return not_a(key, text, "a list of whole numbers like 64,64");
                            RETURN_IF_ERROR(check_list(key, *parsed, field.range));
                            *value = std::move(*parsed);
                            return {};
                          },
                          [&](const EnumAccess& access) -> Status {
                            const std::string wanted(text);
                            RETURN_IF_ERROR(check_choice(key, wanted, field.choices));
                            access.set(wanted);
                            return {};
                          }},
                    field.target);
}

Status ConfigBinder::check_value(const Field& field) {
  const std::string& key = field.key;
  return std::visit(
      Cases{
          [](bool*) { return Status(); },
          [&](int64_t* value) { return check_int(key, *value, field.range); },
          [&](double* value) { return check_double(key, *value, field.range); },
          [&](std::string* value) { return check_choice(key, *value, field.choices); },
          [&](std::vector<int64_t>* value) { return check_list(key, *value, field.range); },
          [&](const EnumAccess& access) { return check_choice(key, access.get(), field.choices); }},
      field.target);
}

std::string ConfigBinder::value_text(const Field& field) {
  return std::visit(Cases{[](bool* value) { return std::string(*value ? "true" : "false"); },
                          [](int64_t* value) { return fmt::format("{}", *value); },
                          [](double* value) { return toml_double(*value); },
                          [](std::string* value) { return toml_string(*value); },
                          [](std::vector<int64_t>* value) {
                            return fmt::format("[{}]", fmt::join(*value, ", "));
                          },
                          [](const EnumAccess& access) { return toml_string(access.get()); }},
                    field.target);
}

std::string ConfigBinder::expected(const Field& field) {
  const auto ranged = [&](std::string what) {
    return bounded(field.range) ? what + " in " + range_text(field.range) : what;
  };
  if (!field.choices.empty()) return fmt::format("one of {}", fmt::join(field.choices, ", "));
  return std::visit(Cases{[](bool*) { return std::string("true or false"); },
                          [&](int64_t*) { return ranged("a whole number"); },
                          [&](double*) { return ranged("a number"); },
                          [](std::string*) { return std::string("a text"); },
                          [&](std::vector<int64_t>*) { return ranged("a list of whole numbers"); },
                          [](const EnumAccess&) { return std::string("a name"); }},
                    field.target);
}

Status ConfigBinder::check() const {
  std::string problems;
  for (const Field& field : fields_) {
    if (const Status status = check_value(field); !status.ok()) {
      problems += (problems.empty() ? "" : "\n") + status.message();
    }
  }
  return problems.empty() ? Status() : Status(Code::InvalidArgument, std::move(problems));
}

bool ConfigBinder::knows(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::string> ConfigBinder::keys() const {
  std::vector<std::string> out;
  out.reserve(fields_.size());
  for (const Field& field : fields_) out.push_back(field.key);
  return out;
}

std::string ConfigBinder::help() const {
  size_t widest = 0;
  for (const Field& field : fields_) {
    widest = std::max(widest, field.key.size() + 3 + value_text(field).size());
  }
  std::string out;
  for (const Field& field : fields_) {
    const std::string left = field.key + " = " + value_text(field);
    std::string doc = field.doc;
    std::replace(doc.begin(), doc.end(), '\n', ' ');
    out += fmt::format("{:<{}}  {} ({})\n", left, widest, doc, expected(field));
  }
  return out;
}

}  // namespace sluice
