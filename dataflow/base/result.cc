#include "dataflow/base/result.h"

namespace sluice {

std::string_view name(Code code) noexcept {
  switch (code) {
    case Code::Ok:
      return "OK";
    case Code::Cancelled:
      return "CANCELLED";
    case Code::InvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::DeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::NotFound:
      return "NOT_FOUND";
    case Code::AlreadyExists:
      return "ALREADY_EXISTS";
    case Code::ResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::FailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::OutOfRange:
      return "OUT_OF_RANGE";
    case Code::Unavailable:
      return "UNAVAILABLE";
    case Code::DataLoss:
      return "DATA_LOSS";
    case Code::Aborted:
      return "ABORTED";
    case Code::Unimplemented:
      return "UNIMPLEMENTED";
    case Code::Internal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

std::string Status::to_string() const {
  return ok() ? "OK" : fmt::format("{}: {}", name(code_), message_);
}

Status Status::with_context(std::string_view context) const {
  return ok() ? *this : Status{code_, fmt::format("{}: {}", context, message_)};
}

namespace internal {

CheckThrower::CheckThrower(const char* file, int line, const char* condition) {
  text_ << file << ':' << line << ": check failed: " << condition << ' ';
}

CheckThrower::~CheckThrower() noexcept(false) { throw CheckFailure(text_.str()); }

}  // namespace internal
}  // namespace sluice
