#pragma once
#include "models/transformer/ops.h"
#include "models/transformer/parameters.h"

#include <memory>

namespace sluice {

/// A decoder-only transformer of any supported architecture: a config, its parameters, and how it
/// multiplies and attends. Forward is const and keeps nothing between calls: any number of threads
/// may call it, each with its own cache. Gradients flow to parameters that require them.
///
///   ASSIGN_OR_RETURN(auto config, read_hf_config(json));
///   Transformer model(config, Parameters::random(config, RandomKey(1)));
///   at::Tensor scores = model.logits(model.forward(pack({{1, 5, 7}, {1, 9}})));  // [5, vocab]
class Transformer {
 public:
  /// `linear` and `attention` default to PlainLinearOp and SdpaAttentionOp.
  Transformer(TransformerConfig config, Parameters parameters,
              std::shared_ptr<const LinearOp> linear = nullptr,
              std::shared_ptr<const AttentionOp> attention = nullptr);
  ~Transformer();
  Transformer(Transformer&&) noexcept;
  Transformer& operator=(Transformer&&) noexcept;

  /// The last hidden state [tokens, hidden], normalised, of every token. With a cache the tokens
  /// continue its sequences (batch.positions say where) and are added to it.
  [[nodiscard]] at::Tensor forward(const PackedBatch& batch, KvCache* cache = nullptr) const;

  /// Language head: hidden [..., hidden] -> [..., vocab]; give it only the rows that are needed.
  [[nodiscard]] at::Tensor logits(const at::Tensor& hidden) const;
  /// Value head: hidden [tokens, hidden] -> [tokens].
  [[nodiscard]] at::Tensor values(const at::Tensor& hidden) const;
  /// Classifier: hidden of a batch -> [sequences, labels], each from its last token.
  [[nodiscard]] at::Tensor classify(const at::Tensor& hidden, const PackedBatch& batch) const;

  /// The layer that makes logits (its weight is the embedding's when tied), values or classes.
  [[nodiscard]] const Linear& head() const noexcept;
  [[nodiscard]] const LinearOp& linear() const noexcept { return *linear_; }
  [[nodiscard]] const TransformerConfig& config() const noexcept { return config_; }
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }
  /// Replaces how the model multiplies, or attends.
  void use(std::shared_ptr<const LinearOp> linear) { linear_ = std::move(linear); }
  void use(std::shared_ptr<const AttentionOp> attention) { attention_ = std::move(attention); }
  /// Whether a forward with gradients keeps only the input of each layer and runs the layer again
  /// in the backward pass, until which the model must stay where it is.
  void recompute(bool wanted) noexcept { recompute_ = wanted; }

 private:
  struct Layer;
  struct Blocks;
  [[nodiscard]] at::Tensor embed(const PackedBatch& batch) const;

  TransformerConfig config_;
  Parameters parameters_;
  std::shared_ptr<const LinearOp> linear_;
  std::shared_ptr<const AttentionOp> attention_;
  std::unique_ptr<Blocks> blocks_;
  bool recompute_ = false;
};

/// Whether sequences of a batch may have parents: not when a layer carries a state from token to
/// token, nor when rotary frequencies depend on each sequence's length.
[[nodiscard]] bool continues_sequences(const TransformerConfig& config) noexcept;

}  // namespace sluice
