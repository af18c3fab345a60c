#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// Why an operation failed. The names follow Abseil's canonical codes.
enum class Code : uint8_t {
  Ok,
  Cancelled,
  InvalidArgument,
  DeadlineExceeded,
  NotFound,
  AlreadyExists,
  ResourceExhausted,
  FailedPrecondition,
  OutOfRange,
  Unavailable,
  DataLoss,
  Aborted,
  Unimplemented,
  Internal,
};

std::string_view name(Code code) noexcept;

/// Success, or a code with a message that says what was wrong, where, and what would be right.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] bool ok() const noexcept { return code_ == Code::Ok; }
  [[nodiscard]] Code code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

  /// "INVALID_ARGUMENT: message", or "OK".
  [[nodiscard]] std::string to_string() const;

  /// The same failure with `context` and ": " before its message; success stays success.
  [[nodiscard]] Status with_context(std::string_view context) const;

 private:
  Code code_ = Code::Ok;
  std::string message_;
};

/// Makes a failure: `error(Code::NotFound, "no environment '{}'", name)`.
template <class... A>
Status error(Code code, fmt::format_string<A...> format, A&&... args) {
  return {code, fmt::format(format, std::forward<A>(args)...)};
}
template <class... A>
Status invalid_argument(fmt::format_string<A...> format, A&&... args) {
  return {Code::InvalidArgument, fmt::format(format, std::forward<A>(args)...)};
}

/// A value, or the status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) status_ = {Code::Internal, "a Result was made from an OK status"};
  }
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

  // As with std::optional, only after ok().
  // NOLINTBEGIN(bugprone-unchecked-optional-access)
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  /// By value: `for (auto& x : *f())` keeps what it walks over.
  T operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  // NOLINTEND(bugprone-unchecked-optional-access)

 private:
  Status status_;
  std::optional<T> value_;
};

/// Thrown by SLUICE_CHECK only. The worker loop, the actor handler and main catch it; nothing else.
class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace internal {
/// Collects the text streamed behind a failed check, then throws CheckFailure.
class CheckThrower {
 public:
  CheckThrower(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckThrower() noexcept(false);
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};
}  // namespace internal
}  // namespace sluice

/// Aborts the worker (never the process) when an invariant is broken: SLUICE_CHECK(n > 0) << n;
#define SLUICE_CHECK(condition) \
  while (!(condition)) ::sluice::internal::CheckThrower(__FILE__, __LINE__, #condition).stream()

// Names and declarations are among the arguments: they cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                             \
  do {                                                                          \
    if (::sluice::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

#define SLUICE_ASSIGN_OR_RETURN(result, target, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return result.status();                 \
  target = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)

#define ASSIGN_OR_RETURN(target, expression) \
  SLUICE_ASSIGN_OR_RETURN(SLUICE_CONCAT(result_, __LINE__), target, expression)
