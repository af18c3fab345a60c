#pragma once
#include "dataflow/base/result.h"
#include "dataflow/base/whereabouts.h"

#include <exception>

namespace sluice {

/// Runs `call`, which steps or resets an environment: foreign code that may hang or throw. Only
/// here is it known whose step it was, so `where` tells meanwhile, and an exception becomes a
/// Status.
template <class F>
Status foreign_call(Whereabouts& where, int64_t part, int64_t step, F call) {
  where.enter(part, step);
  Status status;
  try {
    status = call();
  } catch (const std::exception& e) {
    status = error(Code::Internal, "{}", e.what());
  } catch (...) {
    status = error(Code::Internal, "unknown exception");
  }
  where.leave();
  return status;
}

}  // namespace sluice
