// One step of the engine: plan, compute, draw, settle.
#include "inference/engine/engine_impl.h"
#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>

namespace sluice {

Status Engine::step() {
  install_if_drained();
  end_expired();
  propose();
  const TimeNs began = clock_.now();
  const StepPlan plan = scheduler_.plan();
  std::vector<Job> jobs = jobs_of(plan);
  StepOutput output;
  if (Status status = execute(plan, jobs, output); !status.ok()) {
    cache_->restore();
    scheduler_.rollback();
    ++stats_.failed_steps;
    tell();
    return status;
  }
  scheduler_.commit();
  stats_.steps += plan.rows.empty() ? 0 : 1;
  stats_.computed_tokens += plan.tokens;
  settle(plan, jobs, output);
  if (options_.drafter != nullptr) learn_cost(plan, clock_.now() - began);
  install_if_drained();
  tell();
  return {};
}

void Engine::end_expired() {
  for (const SequenceId id : scheduler_.expired(clock_.now())) {
    const auto place = places_.find(id);
    // Another sample of the same request may have ended it.
    if (place == places_.end()) continue;
    end_all(*place->second.request, FinishReason::Abort,
            error(Code::DeadlineExceeded, "the request's deadline has passed"));
  }
}

std::vector<Engine::Job> Engine::jobs_of(const StepPlan& plan) {
  std::vector<Job> jobs;
  int64_t first = 0;   // of the row, in the batch
  int64_t logits = 0;  // rows of them so far
  const auto add = [&](const Place& place, size_t sample, int64_t row, int64_t token,
                       int64_t scored, int64_t drafts = 0) {
    const bool same = !jobs.empty() && jobs.back().token == token;
    Job job;
    job.request = place.request;
    job.sample = sample;
    job.row = row;
    job.token = token;
    job.logits = same ? jobs.back().logits : logits;
    job.drafts = drafts;
    job.scored = scored;
    if (!same) logits += 1 + drafts;
    if (scored < 0) job.allowed = place.request->samples[sample].allowed();
    jobs.push_back(std::move(job));
  };
  for (int64_t r = 0; r < std::ssize(plan.rows); ++r) {
    const StepRow& row = plan.rows[static_cast<size_t>(r)];
    const Place place = places_.at(row.sequence);
    const Request& request = *place.request;
    const SamplingParams& params = request.spec.sampling;
    // Forks that are computed anew have nothing to score.
    const bool scores = params.prompt_logprobs && !request.forked;
    const int64_t scored = scores ? std::min(row.end, std::ssize(request.spec.prompt) - 1) : 0;
    for (int64_t at = row.begin; at < scored; ++at) {
      add(place, 0, r, first + at - row.begin, at + 1);
    }
    if (row.last && params.max_tokens > 0) {
      const int64_t token = first + row.end - row.begin - 1;
      const size_t draws = request.forked ? 1 : request.samples.size();
      for (size_t i = 0; i < draws; ++i) {
        add(place, request.forked ? place.sample : i, r, token, -1, row.drafts);
      }
    }
    first += row.tokens();
  }
  return jobs;
}

Engine::StepOutput Engine::forward(const StepPlan& plan, const std::vector<Job>& jobs) {
  const at::NoGradGuard no_grad;
  // Before all that may fail: restore() takes back what this begins, not an earlier step.
  std::vector<PagedKvCache::Row> rows;
  for (const StepRow& row : plan.rows) {
    rows.push_back({row.sequence, row.begin, scheduler_.table(row.sequence).blocks});
  }
  cache_->begin(std::move(rows));
  cache_->copy(plan.copies);
  PackedBatch batch;
  batch.tokens = at::empty({plan.tokens}, at::kLong);
  batch.positions = at::empty({plan.tokens}, at::kLong);
  batch.cu_seqlens.push_back(0);
  auto* tokens = batch.tokens.mutable_data_ptr<int64_t>();
  auto* positions = batch.positions.mutable_data_ptr<int64_t>();
  for (const StepRow& row : plan.rows) {
    const std::vector<int64_t>& known = scheduler_.tokens(row.sequence);
    for (int64_t at = row.begin; at < row.end; ++at) {
      *tokens++ = known[static_cast<size_t>(at)];
      *positions++ = at;
    }
    int64_t at = row.end;
    for (const int64_t guess : scheduler_.drafts(row.sequence)) {
      *tokens++ = guess;
      *positions++ = at++;
    }
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + row.tokens());
  }
  std::vector<int64_t> wanted;
  for (const Job& job : jobs) {
    if (job.logits < std::ssize(wanted)) continue;
    for (int64_t i = 0; i <= job.drafts; ++i) wanted.push_back(job.token + i);
  }
  StepOutput output;
  output.vocabulary = limits_.vocabulary;
  if (options_.executor) {
    output.logits = options_.executor->logits(*model_, batch, *cache_, wanted);
    return output;
  }
  const at::Tensor hidden = model_->forward(batch, cache_.get());
  if (wanted.empty()) return output;
  const at::Tensor states = hidden.index_select(0, at::tensor(wanted, at::kLong));
  output.logits = model_->logits(states).to(at::kFloat).contiguous();
  if (options_.drafter != nullptr && options_.drafter->needs().hidden) {
    output.hidden = states.to(at::kFloat).contiguous();
  }
  return output;
}

Result<SampledToken> Engine::draw_one(TokenSampler& sampler, const Request& request,
                                      const Generation& sample, std::span<const float> scores,
                                      const TokenMask* allowed) const {
  TokenLimits limits;
  limits.eos_ids = limits_.end_tokens;
  limits.allowed = allowed;
  return sampler.sample(scores, request.spec.sampling, sample.counts, request.seed,
                        sample.out.index, static_cast<uint64_t>(sample.counts.generated()), limits);
}

void Engine::draw(const StepOutput& output, std::vector<Job>& jobs) {
  const auto count = std::ssize(jobs);
  const int64_t lanes = std::min(count, std::ssize(samplers_));
  parallel_rows(lanes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      TokenSampler& sampler = samplers_[static_cast<size_t>(lane)];
      for (int64_t i = lane; i < count; i += lanes) {
        Job& job = jobs[static_cast<size_t>(i)];
        const Request& request = *job.request;
        const std::span<const float> scores = output.scores(job.logits);
        if (job.scored >= 0) {
          const int64_t token = request.spec.prompt[static_cast<size_t>(job.scored)];
          job.result = sampler.score(scores, token, request.spec.sampling);
          continue;
        }
        job.result =
            draw_one(sampler, request, request.samples[job.sample], scores, job.allowed.get());
      }
    }
  });
}

Status Engine::execute(const StepPlan& plan, std::vector<Job>& jobs, StepOutput& output) {
  if (plan.rows.empty()) return {};
  // LibTorch throws, on lack of memory for one; the step must be undone before anyone else sees it.
  try {
    output = forward(plan, jobs);
    if (output.logits.defined()) draw(output, jobs);
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return error(Code::Internal, "a step of {} tokens failed: {}", plan.tokens,
                 text.substr(0, text.find('\n')));
  }
  return {};
}

void Engine::settle(const StepPlan& plan, std::vector<Job>& jobs, const StepOutput& output) {
  auto next = jobs.begin();
  for (int64_t r = 0; r < std::ssize(plan.rows); ++r) {
    const auto begin = next;
    while (next != jobs.end() && next->row == r) ++next;
    settle_row(plan.rows[static_cast<size_t>(r)], {begin, next}, output);
  }
}

void Engine::settle_row(const StepRow& row, std::span<Job> jobs, const StepOutput& output) {
  Request& request = *places_.at(row.sequence).request;
  if (!request.admitted) {
    request.admitted = true;
    request.cached = scheduler_.cached(row.sequence);
  }
  while (!jobs.empty() && jobs.front().scored >= 0) {
    const Job& job = jobs.front();
    if (!job.result.ok()) {
      return end_all(request, FinishReason::Failed,
                     job.result.status().with_context(fmt::format("prompt token {}", job.scored)));
    }
    request.prompt_logprobs[static_cast<size_t>(job.scored)] = job.result->logprob;
    jobs = jobs.subspan(1);
  }
  if (!row.last) return;
  if (request.spec.sampling.max_tokens == 0) return end_all(request, FinishReason::Length, {});
  if (!request.forked) fork_samples(request);
  for (Job& job : jobs) take_run(request, row, job, output);
}

void Engine::fork_samples(Request& request) {
  const SequenceId parent = request.samples.front().sequence;
  const auto children = scheduler_.fork(parent, static_cast<int32_t>(request.samples.size()) - 1);
  for (size_t i = 0; i < children.size(); ++i) {
    request.samples[i + 1].sequence = children[i];
    places_[children[i]] = {&request, i + 1};
    cache_->fork(parent, children[i]);
  }
  request.forked = true;
}

bool Engine::take(Request& request, size_t sample, Result<SampledToken> drawn) {
  Generation& own = request.samples[sample];
  if (!drawn.ok()) {
    own.out.error =
        drawn.status().with_context(fmt::format("token {} of the output", own.counts.generated()));
    end_sample(request, sample, FinishReason::Failed, false);
    return false;
  }
  Event event;
  const bool heard = static_cast<bool>(request.listener.on_token);
  if (heard) event.token = *drawn;
  event.text = own.add(*std::move(drawn), version_);
  if (heard) {
    event.request = requests_.at(request.id);
    event.sample = own.out.index;
    event.index = sample;
    event.tokens = own.out.tokens.size();
    event.text_size = own.out.text.size();
    event.finish = own.out.reason;
    events_.push_back(std::move(event));
  }
  ++stats_.generated_tokens;
  if (own.out.reason == FinishReason::None) return true;
  end_sample(request, sample, own.out.reason);
  return false;
}

}  // namespace sluice
