#include "inference/speculation/neural/make_drafter.h"

#include "inference/speculation/history_drafter.h"
#include "inference/speculation/jacobi_drafter.h"
#include "inference/speculation/neural/heads_drafter.h"
#include "inference/speculation/neural/model_drafter.h"
#include "models/io/checkpoint.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"
#include "models/transformer/loading.h"

#include <string>

namespace sluice {
namespace {

Status same_tokens(const Tokenizer& own, const Tokenizer& target, int64_t vocabulary) {
  for (int64_t id = 0; id < vocabulary; ++id) {
    const auto token = static_cast<TokenId>(id);
    if (own.token(token) == target.token(token)) continue;
    return invalid_argument("its token {} is '{}', not '{}': the tokenizers differ", id,
                            own.token(token), target.token(token));
  }
  return {};
}

Result<std::shared_ptr<Drafter>> load_model_drafter(const std::string& name,
                                                    const DraftTarget& target) {
  ASSIGN_OR_RETURN(const std::string path, resolve_model(name));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(const Transformer model, load_transformer(*checkpoint));
  if (target.tokenizer != nullptr) {
    ASSIGN_OR_RETURN(const auto tokenizer, load_tokenizer(path));
    RETURN_IF_ERROR(same_tokens(*tokenizer, *target.tokenizer, target.vocabulary));
  }
  ModelDrafter::Options options;
  options.vocabulary = target.vocabulary;
  options.linear = target.linear;
  ASSIGN_OR_RETURN(auto drafter, ModelDrafter::create(model, std::move(options)));
  return std::shared_ptr<Drafter>(std::move(drafter));
}

}  // namespace

Result<std::shared_ptr<Drafter>> make_drafter(std::string_view text, const DraftTarget& target) {
  const size_t mark = text.find('=');
  const std::string_view kind = text.substr(0, mark);
  const std::string rest(mark == std::string_view::npos ? "" : text.substr(mark + 1));
  const bool bare = mark == std::string_view::npos;
  if (bare && kind == "ngram") return std::shared_ptr<Drafter>(std::make_shared<NgramDrafter>());
  if (bare && kind == "suffix") return std::shared_ptr<Drafter>(std::make_shared<HistoryDrafter>());
  if (bare && kind == "jacobi") return std::shared_ptr<Drafter>(std::make_shared<JacobiDrafter>());
  if (kind == "draft" && !rest.empty()) {
    auto made = load_model_drafter(rest, target);
    if (!made.ok()) return made.status().with_context(fmt::format("draft model {}", rest));
    return made;
  }
  if (kind == "heads" && !rest.empty()) {
    ASSIGN_OR_RETURN(auto heads, HeadsDrafter::load(rest, *target.model, target.vocabulary));
    return std::shared_ptr<Drafter>(std::move(heads));
  }
  return invalid_argument(
      "'{}' is no way to speculate: ngram, suffix, jacobi, draft=MODEL or heads=FILE", text);
}

}  // namespace sluice
