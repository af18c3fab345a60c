// Speculation: guesses that a step checks beside what it would compute anyway.
//
// Each token is drawn from the model's scores by its own random number, keyed by (seed, sample,
// position), as without guesses. A guess only decides whether the scores behind it are there
// already: the run goes on as long as the drawn token is the guessed one. A token drawn from p is
// the guess d with probability p(d), and otherwise a draw from p without d: for a guess made
// without chance that is rejection sampling (Leviathan et al., arXiv 2211.17192) to the letter, and
// for any other guess it is still exact, since what is drawn never depends on it. So results do not
// depend on guesses, their number, the batch or preemption, and in exact mode keep their bits.
#include "inference/engine/engine_impl.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

namespace sluice {

void Engine::propose() {
  if (options_.drafter == nullptr) return;
  const std::vector<SequenceId> ready = scheduler_.ready();
  std::vector<DraftQuery> queries;
  std::vector<DraftShare> shares;
  std::vector<Generation*> owners;
  for (const SequenceId id : ready) {
    const Place place = places_.at(id);
    Request& request = *place.request;
    if (!request.forked) continue;
    Generation& own = request.samples[place.sample];
    const std::vector<int64_t>& known = scheduler_.tokens(id);
    DraftQuery query;
    query.sequence = id;
    query.tokens = known;
    query.sampling = &request.spec.sampling;
    query.seed = request.seed;
    query.sample = own.out.index;
    query.position = static_cast<uint64_t>(own.counts.generated());
    // Behind a guess one more token is drawn.
    const int64_t room = longest(request.spec, limits_) - std::ssize(known) - 1;
    shares.push_back({own.drafts.chance(), std::clamp<int64_t>(room, 0, options_.max_drafts), 0});
    queries.push_back(std::move(query));
    owners.push_back(&own);
  }
  grant_drafts(shares, std::ssize(ready), options_.scheduler.token_budget - std::ssize(ready),
               step_cost_);
  for (size_t i = 0; i < queries.size(); ++i) {
    DraftShare& share = shares[i];
    if (share.granted == 0) owners[i]->drafts.pass();
    if (share.granted == 0 && owners[i]->drafts.due())
      share.granted = std::min<int64_t>(1, share.most);
    queries[i].most = options_.adapt_drafts ? share.granted : share.most;
  }
  std::erase_if(queries, [](const DraftQuery& query) { return query.most == 0; });
  if (!queries.empty()) ask_drafter(queries);
}

void Engine::ask_drafter(std::span<DraftQuery> queries) {
  const TimeNs began = clock_.now();
  options_.drafter->draft(queries);
  int64_t guesses = 0;
  for (DraftQuery& query : queries) {
    std::vector<int64_t>& out = query.out;
    out.resize(std::min(out.size(), static_cast<size_t>(query.most)));
    const auto odd = std::ranges::find_if(
        out, [&](int64_t token) { return token < 0 || token >= limits_.vocabulary; });
    out.erase(odd, out.end());
    guesses += std::ssize(out);
    if (!out.empty()) scheduler_.draft(query.sequence, std::move(out));
  }
  step_cost_.add_guesses(guesses, static_cast<double>(clock_.now() - began) * 1e-9);
}

void Engine::learn_cost(const StepPlan& plan, TimeNs spent) {
  const bool decodes =
      std::ranges::all_of(plan.rows, [](const StepRow& row) { return row.end - row.begin == 1; });
  if (decodes) step_cost_.add_step(plan.tokens, static_cast<double>(spent) * 1e-9);
}

void Engine::take_run(Request& request, const StepRow& row, Job& job, const StepOutput& output) {
  // A copy: the sequence may end on the way and take its own with it.
  const auto planned = scheduler_.drafts(row.sequence);
  const std::vector<int64_t> drafts(planned.begin(), planned.end());
  Generation& own = request.samples[job.sample];
  std::vector<int64_t> drawn;
  size_t accepted = 0;
  bool open = take(request, job.sample, std::move(job.result));
  while (open) {
    drawn.push_back(own.out.tokens.back());
    if (accepted == drafts.size() || drawn.back() != drafts[accepted]) break;
    ++accepted;
    const auto scores = output.scores(job.logits + static_cast<int64_t>(accepted));
    open = take(request, job.sample,
                draw_one(samplers_.front(), request, own, scores, own.allowed().get()));
  }
  if (!drafts.empty()) {
    own.drafts.add(std::ssize(drafts), static_cast<int64_t>(accepted));
    ++stats_.drafts;
    stats_.drafted_tokens += std::ssize(drafts);
    stats_.accepted_tokens += static_cast<int64_t>(accepted);
  }
  if (!open) return;
  scheduler_.append(own.sequence, drawn);
  if (options_.drafter != nullptr) {
    tell_drafter(own.sequence, job.logits, std::ssize(drafts), static_cast<int64_t>(accepted),
                 output);
  }
}

void Engine::tell_drafter(SequenceId sequence, int64_t logits, int64_t drafted, int64_t accepted,
                          const StepOutput& output) {
  const Drafter::Needs needs = options_.drafter->needs();
  DraftOutcome outcome;
  outcome.sequence = sequence;
  outcome.drafted = drafted;
  outcome.accepted = accepted;
  if (needs.hidden) outcome.hidden = output.states(logits + accepted);
  std::vector<int64_t> rest;
  if (needs.rest) {
    for (int64_t i = accepted + 1; i <= drafted; ++i) {
      const auto scores = output.scores(logits + i);
      rest.push_back(std::ranges::max_element(scores) - scores.begin());
    }
    outcome.rest = rest;
  }
  options_.drafter->observe(outcome);
}

void Engine::forget_drafts(const Request& request, const Generation& sample, bool keep) {
  if (options_.drafter == nullptr) return;
  std::vector<int64_t> tokens;
  if (keep) {
    const GenRequest& spec = request.spec;
    for (const auto* part : {&spec.prompt, &spec.generated, &sample.out.tokens}) {
      tokens.insert(tokens.end(), part->begin(), part->end());
    }
  }
  const int64_t prompt = keep ? std::ssize(request.spec.prompt) : 0;
  options_.drafter->finished(sample.sequence, tokens, prompt);
}

}  // namespace sluice
