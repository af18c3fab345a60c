#include "inference/server/engine_loop.h"

#include "dataflow/base/log.h"

#include <algorithm>

namespace sluice {
namespace {

/// A step that fails again and again will not get better by itself.
constexpr int kMostFailures = 3;

}  // namespace

EngineLoop::EngineLoop(std::unique_ptr<Engine> engine, Options options, ServerMetrics& metrics)
    : engine_(std::move(engine)),
      options_(options),
      metrics_(metrics),
      submissions_(static_cast<size_t>(std::max<int64_t>(1, options.max_waiting)), waker_),
      thread_([this] { run(); }) {}

EngineLoop::~EngineLoop() { stop(); }

void EngineLoop::stop() {
  drain();
  stopping_ = true;
  waker_.wake();
  if (thread_.joinable()) thread_.join();
}

Status EngineLoop::submit(Submission submission) {
  if (draining()) return error(Code::Unavailable, "the server is shutting down");
  ++open_;
  if (submissions_.try_put(submission)) return {};
  --open_;
  metrics_.turned_away();
  return error(Code::Unavailable, "too many requests wait; try again later");
}

void EngineLoop::run() {
  while (!stopping_) {
    const auto seen = waker_.epoch();
    take_in();
    abort_gone();
    if (engine_->busy()) {
      step();
    } else {
      tell();
      waker_.wait(seen, after(now(), kSecond));
    }
  }
  take_in();
  engine_->abort_all();
  tell();
}

void EngineLoop::take_in() {
  for (Submission& submission : submissions_.take_all()) start(std::move(submission));
}

void EngineLoop::start(Submission submission) {
  auto client = std::make_unique<Client>();
  client->reply = submission.reply;
  client->tokens = submission.tokens;
  client->asked = now();
  int64_t choices = 0;
  for (const GenRequest& request : submission.requests) choices += request.sampling.n;
  client->sent.resize(static_cast<size_t>(choices));
  client->finished.resize(static_cast<size_t>(choices));
  client->last.resize(static_cast<size_t>(choices));
  client->prompt_logprobs.resize(submission.requests.size());
  News news;
  news.kind = News::Kind::Accepted;
  if (engine_->stats().scheduler.waiting >= options_.max_waiting) {
    news.refused = error(Code::Unavailable, "too many requests wait; try again later");
    metrics_.turned_away();
  }
  int64_t first = 0;
  for (size_t i = 0; i < submission.requests.size() && news.refused.ok(); ++i) {
    const int64_t n = submission.requests[i].sampling.n;
    news.refused = submit_one(std::move(submission.requests[i]), *client, i, first);
    first += n;
  }
  if (!news.refused.ok()) {
    news.kind = News::Kind::Refused;
    client->gone = true;
    abort(*client);
  }
  static_cast<void>(submission.reply->put(std::move(news)));
  Reply* const key = submission.reply.get();
  clients_.emplace(key, std::move(client));
}

Status EngineLoop::submit_one(GenRequest request, Client& client, size_t prompt,
                              int64_t first_choice) {
  GenListener listener;
  listener.on_token = [this, &client, first_choice](const TokenEvent& event) {
    on_token(client, first_choice + event.sample, event);
  };
  listener.on_done = [this, &client, prompt, first_choice](Completion done) {
    on_done(client, prompt, first_choice, std::move(done));
  };
  request.first_sample = 0;
  const auto prompt_tokens = std::ssize(request.prompt);
  const int32_t n = request.sampling.n;
  const int32_t max_tokens = request.sampling.max_tokens;
  ASSIGN_OR_RETURN(const RequestId id, engine_->submit(std::move(request), std::move(listener)));
  metrics_.accepted(prompt_tokens, n, max_tokens);
  client.ids.push_back(id);
  ++client.open;
  return {};
}

void EngineLoop::on_token(Client& client, int64_t choice, const TokenEvent& event) {
  const auto at = static_cast<size_t>(choice);
  const TimeNs time = now();
  if (client.last[at] == 0) {
    metrics_.first_token(time - client.asked);
  } else {
    metrics_.next_token(time - client.last[at]);
  }
  client.last[at] = time;
  if (client.gone) return;
  Piece piece;
  piece.choice = choice;
  piece.text = event.text;
  if (client.tokens) piece.tokens.push_back(event.token);
  piece.finish = event.finish;
  client.sent[at] += event.text.size();
  if (event.finish != FinishReason::None) client.finished[at] = true;
  client.pieces.push_back(std::move(piece));
}

void EngineLoop::on_done(Client& client, size_t prompt, int64_t first_choice, Completion done) {
  metrics_.finished(done, now() - client.asked);
  client.usage.prompt_tokens += done.prompt_tokens;
  client.usage.cached_tokens += done.cached_tokens;
  client.prompt_logprobs[prompt] = std::move(done.prompt_logprobs);
  for (size_t i = 0; i < done.samples.size(); ++i) {
    Sample& sample = done.samples[i];
    const size_t at = static_cast<size_t>(first_choice) + i;
    client.usage.completion_tokens += std::ssize(sample.tokens);
    // Ended otherwise than by its newest token.
    if (client.finished[at] || client.gone) continue;
    Piece piece;
    piece.choice = static_cast<int64_t>(at);
    if (sample.text.size() > client.sent[at]) piece.text = sample.text.substr(client.sent[at]);
    piece.finish = sample.reason;
    piece.error = std::move(sample.error);
    client.pieces.push_back(std::move(piece));
  }
  --client.open;
}

void EngineLoop::abort(Client& client) {
  for (const RequestId id : client.ids) static_cast<void>(engine_->abort(id));
}

void EngineLoop::abort_gone() {
  for (auto& [reply, client] : clients_) {
    if (client->gone || !reply->cancelled()) continue;
    client->gone = true;
    abort(*client);
  }
}

void EngineLoop::step() {
  const Status status = engine_->step();
  if (status.ok()) {
    failures_ = 0;
  } else {
    log(LogLevel::Error, "{}", status.message());
    if (++failures_ >= kMostFailures) {
      failures_ = 0;
      for (auto& [reply, client] : clients_) {
        Piece piece;
        piece.error = status;
        piece.finish = FinishReason::Failed;
        client->pieces.push_back(std::move(piece));
        abort(*client);
      }
    }
  }
  tell();
}

void EngineLoop::tell() {
  for (auto it = clients_.begin(); it != clients_.end();) {
    Client& client = *it->second;
    const bool done = client.open == 0;
    if (!client.gone && (done || !client.pieces.empty())) {
      News news;
      news.pieces = std::move(client.pieces);
      client.pieces.clear();
      if (done) {
        news.kind = News::Kind::Done;
        news.usage = client.usage;
        news.prompt_logprobs = std::move(client.prompt_logprobs);
        news.version = engine_->version().to_string();
      }
      if (!client.reply->put(std::move(news))) {
        log(LogLevel::Warning, "a client that does not read was given up");
        client.gone = true;
        abort(client);
        continue;  // looked at again: it has ended now
      }
    }
    if (done) {
      it = clients_.erase(it);
      --open_;
    } else {
      ++it;
    }
  }
  metrics_.update(engine_->stats());
}

}  // namespace sluice
