#pragma once
#include "inference/speculation/drafter.h"
#include "models/transformer/model.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice {

/// Parallel-draft heads (Medusa, arXiv 2401.10774): head i guesses, from the hidden state behind
/// which the newest token was drawn, the token i + 1 places behind the newest: all at once. Each is
/// a residual block h + silu(W h + b) and a language head; the likeliest token of each is the
/// guess.
///
/// A safetensors file has, for i = 0, 1, ..: "i.0.linear.weight" [hidden, hidden],
/// "i.0.linear.bias" [hidden] and "i.1.weight" [vocabulary, hidden], which may be missing: then the
/// model's own.
class HeadsDrafter final : public Drafter {
 public:
  /// For a model whose engine draws from the first `vocabulary` ids.
  static Result<std::shared_ptr<HeadsDrafter>> load(const std::string& path,
                                                    const Transformer& target, int64_t vocabulary);

  void draft(std::span<DraftQuery> queries) override;
  [[nodiscard]] Needs needs() const override { return {.hidden = true, .rest = false}; }
  void observe(const DraftOutcome& outcome) override;
  void finished(int64_t sequence, std::span<const int64_t> tokens, int64_t prompt) override;

  [[nodiscard]] size_t heads() const noexcept { return heads_.size(); }
  /// Sequences it remembers something of.
  [[nodiscard]] size_t size() const noexcept { return hidden_.size(); }

 private:
  struct Head {
    at::Tensor weight;
    at::Tensor bias;
    at::Tensor output;
  };
  std::vector<Head> heads_;
  int64_t vocabulary_ = 0;
  std::unordered_map<int64_t, std::vector<float>> hidden_;
};

}  // namespace sluice
