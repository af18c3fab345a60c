#include "dataflow/transport/local_service.h"

#include <utility>

namespace sluice {

// Every operation declares its WakeList before the lock, so that wake-ups go out after it.

class LocalService::Client final : public RawServiceClient {
 public:
  Client(std::shared_ptr<LocalService> service, Waker& waker)
      : service_(std::move(service)), state_(waker) {
    const MutexLock lock(service_->mutex_);
    service_->queue_.open_client(state_);
  }
  ~Client() override {
    remove(false);
    state_.listener.drain();
  }

  bool try_ask(std::unique_ptr<AnyExchange>& exchange) override {
    WakeList wakes;
    const MutexLock lock(service_->mutex_);
    return service_->queue_.ask(state_, exchange, wakes);
  }
  std::unique_ptr<AnyExchange> try_collect() override {
    WakeList wakes;
    const MutexLock lock(service_->mutex_);
    return service_->queue_.collect(state_, wakes);
  }
  [[nodiscard]] TimeNs next_deadline() const override {
    const MutexLock lock(service_->mutex_);
    return service_->queue_.next_deadline(state_);
  }
  void close() override { remove(true); }

 private:
  void remove(bool clean) {
    WakeList wakes;
    const MutexLock lock(service_->mutex_);
    service_->queue_.remove_client(state_, clean, wakes);
  }

  std::shared_ptr<LocalService> service_;
  ServiceQueue::Client state_;
};

class LocalService::Server final : public RawServiceServer {
 public:
  Server(std::shared_ptr<LocalService> service, Waker& waker)
      : service_(std::move(service)), state_(waker) {
    const MutexLock lock(service_->mutex_);
    service_->queue_.open_server(state_);
  }
  ~Server() override {
    remove(false);
    state_.listener.drain();
  }

  void try_take(std::vector<std::unique_ptr<AnyExchange>>& batch) override {
    WakeList wakes;
    const MutexLock lock(service_->mutex_);
    service_->queue_.take(state_, batch, wakes);
  }
  [[nodiscard]] TimeNs next_due() const override {
    const MutexLock lock(service_->mutex_);
    return service_->queue_.next_due();
  }
  void answer(std::unique_ptr<AnyExchange> exchange) override {
    WakeList wakes;
    const MutexLock lock(service_->mutex_);
    service_->queue_.answer(state_, exchange, wakes);
  }
  [[nodiscard]] bool wanted(const AnyExchange& exchange) const override {
    const MutexLock lock(service_->mutex_);
    return service_->queue_.wanted(state_, exchange);
  }
  [[nodiscard]] bool ended() const override {
    const MutexLock lock(service_->mutex_);
    return service_->queue_.ended();
  }
  void close() override { remove(true); }

 private:
  void remove(bool clean) {
    WakeList wakes;
    const MutexLock lock(service_->mutex_);
    service_->queue_.remove_server(state_, clean, wakes);
  }

  std::shared_ptr<LocalService> service_;
  ServiceQueue::Server state_;
};

void LocalService::lose(const Waker& waker) {
  WakeList wakes;
  const MutexLock lock(mutex_);
  queue_.lose(waker, wakes);
}

std::unique_ptr<RawServiceClient> LocalService::open_client(Waker& waker) {
  return std::make_unique<Client>(shared_from_this(), waker);
}

std::unique_ptr<RawServiceServer> LocalService::open_server(Waker& waker) {
  return std::make_unique<Server>(shared_from_this(), waker);
}

}  // namespace sluice
