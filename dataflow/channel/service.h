#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/result.h"
#include "dataflow/policy/service_policy.h"
#include "dataflow/types/payload.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {

/// One question on its way to a server and back. Client and server fill the same object, so that
/// its buffers are used again for the next question and a running service allocates nothing.
class AnyExchange {
 public:
  virtual ~AnyExchange() = default;
  /// What batch limits count: PayloadTraits<Request>::weight(request).
  [[nodiscard]] virtual int64_t weight() const = 0;
  /// Makes an empty exchange of the same type.
  using Maker = std::unique_ptr<AnyExchange> (*)();
  [[nodiscard]] virtual Maker maker() const = 0;

  int64_t id = 0;      ///< set by ask(): 0, 1, .. per client
  int64_t client = 0;  ///< set by ask(): the asking endpoint
  TimeNs asked = 0;    ///< set by ask()
  int32_t ticket = 0;  ///< the transport's own
  Status status;  ///< set with the answer: why there is none (Unavailable, DeadlineExceeded, ..)
};

template <class Req, class Rep>
class Exchange final : public AnyExchange {
 public:
  [[nodiscard]] int64_t weight() const override { return PayloadTraits<Req>::weight(request); }
  [[nodiscard]] Maker maker() const override {
    return [] { return std::unique_ptr<AnyExchange>(std::make_unique<Exchange>()); };
  }
  Req request;
  Rep response;
};

/// A client's end of a service, as a transport implements it. Used by one thread. close() or
/// destruction drops its questions; without close() it is a lost client, which another may replace.
class RawServiceClient {
 public:
  virtual ~RawServiceClient() = default;
  /// Sends the exchange; false leaves it with the caller because the service is full (a wake-up
  /// follows), or because this client has not collected as many answers as the service may hold.
  virtual bool try_ask(std::unique_ptr<AnyExchange>& exchange) = 0;
  /// The next finished exchange, in any order, or null. A question whose server was lost, whose
  /// deadline passed or which found the service closed comes back with a status; it is safe to ask
  /// it again. If a server had already taken it, what comes back is a new, empty exchange of the
  /// same id and client: the server may still be reading the old one.
  virtual std::unique_ptr<AnyExchange> try_collect() = 0;
  /// When the next outstanding question expires (kForever: never); call try_collect then.
  [[nodiscard]] virtual TimeNs next_deadline() const = 0;
  virtual void close() = 0;
};

/// A server's end. Used by one thread. A server that goes away with questions in hand fails them
/// with Unavailable.
class RawServiceServer {
 public:
  virtual ~RawServiceServer() = default;
  /// Replaces `batch` by the next one as the service's batching policy cuts it; leaves it empty
  /// when none is due. Questions whose deadline has passed are not in it: they go back.
  virtual void try_take(std::vector<std::unique_ptr<AnyExchange>>& batch) = 0;
  /// When a batch that is not full yet will be due (kForever: no request waits).
  [[nodiscard]] virtual TimeNs next_due() const = 0;
  /// Hands the exchange back; its status may say why there is no response. Too late (deadline over,
  /// client gone): it is discarded and counted.
  virtual void answer(std::unique_ptr<AnyExchange> exchange) = 0;
  /// Whether an answer to a question in hand would still reach anyone: its client is there and its
  /// deadline has not come. When a client goes away, servers that hold its questions are woken.
  [[nodiscard]] virtual bool wanted(const AnyExchange& exchange) const = 0;
  /// Every client closed.
  [[nodiscard]] virtual bool ended() const = 0;
  virtual void close() = 0;
};

template <class Req, class Rep>
class ServiceClient {
 public:
  using Call = Exchange<Req, Rep>;
  ServiceClient() = default;
  explicit ServiceClient(std::unique_ptr<RawServiceClient> raw) : raw_(std::move(raw)) {}

  bool try_ask(std::unique_ptr<Call>& call) {
    std::unique_ptr<AnyExchange> any = std::move(call);
    const bool sent = raw_->try_ask(any);
    call.reset(static_cast<Call*>(any.release()));
    return sent;
  }
  std::unique_ptr<Call> try_collect() {
    return std::unique_ptr<Call>(static_cast<Call*>(raw_->try_collect().release()));
  }
  [[nodiscard]] TimeNs next_deadline() const { return raw_->next_deadline(); }
  void close() { raw_->close(); }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  std::unique_ptr<RawServiceClient> raw_;
};

template <class Req, class Rep>
class ServiceServer {
 public:
  using Call = Exchange<Req, Rep>;
  ServiceServer() = default;
  explicit ServiceServer(std::unique_ptr<RawServiceServer> raw) : raw_(std::move(raw)) {}

  /// Replaces the contents of `batch`; false when nothing is due.
  bool try_take(std::vector<std::unique_ptr<Call>>& batch) {
    batch.clear();
    raw_->try_take(any_);
    for (auto& any : any_) batch.emplace_back(static_cast<Call*>(any.release()));
    any_.clear();
    return !batch.empty();
  }
  [[nodiscard]] TimeNs next_due() const { return raw_->next_due(); }
  void answer(std::unique_ptr<Call> call) { raw_->answer(std::move(call)); }
  [[nodiscard]] bool wanted(const Call& call) const { return raw_->wanted(call); }
  [[nodiscard]] bool ended() const { return raw_->ended(); }
  void close() { raw_->close(); }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  std::unique_ptr<RawServiceServer> raw_;
  std::vector<std::unique_ptr<AnyExchange>> any_;
};

}  // namespace sluice
