#include "actors/shutdown_sequence.h"

#include "actors/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace sluice {
namespace {

constexpr TimeNs kStopReserve = kSecond;

}  // namespace

ShutdownSequence::ShutdownSequence(std::vector<int> stages, TimeNs now, TimeNs grace)
    : left_(std::move(stages)),
      drain_until_(after(now, grace - std::min(grace / 4, kStopReserve))),
      grace_(grace) {
  std::sort(left_.begin(), left_.end(), std::greater<>());
  left_.erase(std::unique(left_.begin(), left_.end()), left_.end());
}

std::optional<int> ShutdownSequence::stage() const {
  if (left_.empty()) return std::nullopt;
  return left_.back();
}

void ShutdownSequence::next() {
  if (!left_.empty()) left_.pop_back();
}

TimeNs ShutdownSequence::share(TimeNs now) const {
  if (left_.empty() || now >= drain_until_) return 0;
  return (drain_until_ - now) / static_cast<TimeNs>(left_.size());
}

void ShutdownSequence::cut_short(const std::string& loop) { cut_short_.push_back(loop); }

void ShutdownSequence::gave_up(const std::string& loop) {
  given_up_.push_back(loop);
  std::erase(cut_short_, loop);
}

std::string ShutdownSequence::failure() const {
  std::string text;
  if (!given_up_.empty()) {
    text = fmt::format("not ended within {} and abandoned: {}", duration_text(grace_),
                       fmt::join(given_up_, ", "));
  }
  if (!cut_short_.empty()) {
    text += fmt::format("{}stopped before drained: {}", text.empty() ? "" : "; ",
                        fmt::join(cut_short_, ", "));
  }
  return text;
}

}  // namespace sluice
