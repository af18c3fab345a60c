#include "dataflow/policy/admission_window.h"

#include <algorithm>

namespace sluice {

int64_t AdmissionWindow::room() const noexcept {
  const int64_t ahead = current_.valid() ? current_.step - first_.step : 0;
  return std::max<int64_t>(0, (eta_ + 1 + ahead) * batch_ - accepted_ - running_);
}

void AdmissionWindow::accepted(bool was_started) noexcept {
  ++accepted_;
  if (was_started) --running_;
}

bool AdmissionWindow::advance(const VersionTag& current, int64_t held) noexcept {
  if (!current.valid()) return false;
  if (!current_.valid()) {
    first_ = current_ = current;
    return true;
  }
  if (!newer(current, current_)) return false;
  if (current.incarnation != current_.incarnation) {
    first_ = current;
    accepted_ = held;
  }
  current_ = current;
  return true;
}

}  // namespace sluice
