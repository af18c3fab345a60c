#pragma once
#include "dataflow/base/mailbox.h"
#include "inference/engine/request.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// What became known of one choice in a step.
struct Piece {
  int64_t choice = 0;
  std::string text;
  std::vector<SampledToken> tokens;  ///< when wanted: those that were drawn
  FinishReason finish = FinishReason::None;
  Status error;  ///< when it failed
};

/// Counts for a client's bill.
struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t cached_tokens = 0;
};

/// What the engine's thread tells the thread that serves a client.
struct News {
  enum class Kind : uint8_t { Accepted, Refused, Pieces, Done };
  Kind kind = Kind::Pieces;
  Status refused;
  std::vector<Piece> pieces;
  Usage usage;                                      ///< with Done
  std::vector<std::vector<float>> prompt_logprobs;  ///< with Done, by prompt, when asked for
  std::string version;                              ///< with Done: of the weights
};

/// The way back from the engine's thread to one client's: a mailbox and a flag. Shared by both.
class Reply {
 public:
  /// A client that is so many steps behind is given up.
  static constexpr size_t kCapacity = 16384;

  explicit Reply(Waker& engine) : engine_(engine) { waker_.max_spin(0); }

  /// The client's thread: waits for news until `deadline`; false when none came.
  bool wait(News& out, TimeNs deadline) {
    for (;;) {
      const auto seen = waker_.epoch();
      if (news_.try_take(out)) return true;
      if (RealClock::instance().now() >= deadline) return false;
      waker_.wait(seen, deadline);
    }
  }
  /// The client's thread: nobody reads any more; the engine frees what the request holds.
  void cancel() {
    cancelled_.store(true, std::memory_order_release);
    engine_.wake();
  }

  /// The engine's thread. False when the client is too far behind.
  [[nodiscard]] bool put(News news) { return news_.try_put(news); }
  [[nodiscard]] bool cancelled() const noexcept {
    return cancelled_.load(std::memory_order_acquire);
  }

 private:
  Waker& engine_;
  Waker waker_;
  Mailbox<News> news_{kCapacity, waker_};
  std::atomic<bool> cancelled_{false};
};

/// What a client asks of the engine: some prompts, whose choices are numbered through.
struct Submission {
  std::vector<GenRequest> requests;
  bool tokens = false;  ///< pieces name the tokens, not only the text
  std::shared_ptr<Reply> reply;
};

}  // namespace sluice
