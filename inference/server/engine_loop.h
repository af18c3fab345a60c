#pragma once
#include "inference/engine/engine.h"
#include "inference/server/reply.h"
#include "inference/server/server_metrics.h"

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

namespace sluice {

/// The one thread that owns an engine: takes submissions from a bounded mailbox, steps, and sends
/// each client's news to its Reply. It never waits for a client.
class EngineLoop {
 public:
  struct Options {
    int64_t max_waiting = 256;  ///< sequences; when so many wait, requests are turned away
  };
  /// `metrics` outlives it.
  EngineLoop(std::unique_ptr<Engine> engine, Options options, ServerMetrics& metrics);
  /// stop().
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  /// A way back for one submission. Any thread.
  [[nodiscard]] std::shared_ptr<Reply> make_reply() { return std::make_shared<Reply>(waker_); }
  /// Any thread. Unavailable when too many wait, or after drain(). Whether the engine takes it is
  /// the reply's first news.
  Status submit(Submission submission);

  /// Any thread: nothing new is taken in. What is under way goes on.
  void drain() { draining_.store(true, std::memory_order_release); }
  [[nodiscard]] bool draining() const noexcept { return draining_.load(std::memory_order_acquire); }
  /// Any thread: requests under way or on their way.
  [[nodiscard]] int64_t open() const noexcept { return open_.load(std::memory_order_acquire); }
  /// Aborts what is under way and ends the thread.
  void stop();

 private:
  /// A submission under way.
  struct Client {
    std::shared_ptr<Reply> reply;
    bool tokens = false;
    bool gone = false;
    int64_t open = 0;  ///< requests without a completion
    std::vector<RequestId> ids;
    std::vector<Piece> pieces;   ///< of this step
    std::vector<size_t> sent;    ///< bytes of text, by choice
    std::vector<bool> finished;  ///< by choice
    std::vector<TimeNs> last;    ///< when its last token came, by choice
    std::vector<std::vector<float>> prompt_logprobs;
    Usage usage;
    TimeNs asked = 0;
  };
  using Clients = std::unordered_map<Reply*, std::unique_ptr<Client>>;

  void run();
  void take_in();
  void start(Submission submission);
  Status submit_one(GenRequest request, Client& client, size_t prompt, int64_t first_choice);
  void on_token(Client& client, int64_t choice, const TokenEvent& event);
  void on_done(Client& client, size_t prompt, int64_t first_choice, Completion done);
  void abort(Client& client);
  void abort_gone();
  void step();
  /// Sends what the step brought; forgets the clients whose requests have ended.
  void tell();
  [[nodiscard]] TimeNs now() const { return RealClock::instance().now(); }

  std::unique_ptr<Engine> engine_;
  Options options_;
  ServerMetrics& metrics_;
  Waker waker_;
  Mailbox<Submission> submissions_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> open_{0};
  Clients clients_;
  int failures_ = 0;  ///< steps in a row
  std::thread thread_;
};

}  // namespace sluice
