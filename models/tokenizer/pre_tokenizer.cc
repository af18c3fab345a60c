#include "models/tokenizer/pre_tokenizer.h"

#include "models/tokenizer/pre_tokenizer_stages.h"

namespace sluice {

/// Flattens sequences into one list of stages and notices the known combinations.
class PreTokenizerLoader {
 public:
  Status load(JsonDoc::Value value, const std::string& path) {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(value, path));
    ASSIGN_OR_RETURN(const std::string type, fields.text("type"));
    if (type == "Sequence") {
      ASSIGN_OR_RETURN(const auto list, fields.require("pretokenizers", JsonDoc::Kind::Array));
      for (size_t i = 0; i < list.size(); ++i) {
        RETURN_IF_ERROR(load(list.item(i), fmt::format("{}.pretokenizers[{}]", path, i)));
      }
      return {};
    }
    for (const auto& [name, make] : pre_tokenizer_types()) {
      if (name != type) continue;
      if (plan_.size() >= kMostSteps) return fields.wrong("type", "more than 64 steps");
      return make(fields, plan_);
    }
    std::string known = "Sequence";
    for (const auto& [name, make] : pre_tokenizer_types()) known += fmt::format(", {}", name);
    return fields.wrong("type",
                        fmt::format("unknown pre-tokenizer {}; known: {}", quoted(type), known));
  }

  PreTokenizer finish() {
    PreTokenizer made;
    made.spells_bytes_ = !plan_.empty() && plan_.back().kind == StagePlan::Kind::SpellBytes;
    if (made.spells_bytes_) recognise(made);
    for (StagePlan& stage : plan_) made.stages_.push_back(std::move(stage.stage));
    return made;
  }

 private:
  using Kind = StagePlan::Kind;

  void recognise(PreTokenizer& made) const {
    size_t i = 0;
    const auto is = [&](Kind kind) { return i < plan_.size() && plan_[i].kind == kind; };
    const bool digits = is(Kind::EachDigit);
    if (digits) ++i;
    // Behind the digits a space would go before each part.
    if (!digits && is(Kind::PrefixSpace)) {
      made.prefix_space_ = true;
      ++i;
    }
    if (!is(Kind::KnownPattern) || i + 2 != plan_.size()) return;
    const KnownSplit pattern = plan_[i].pattern;
    if (!digits) {
      made.known_ = pattern;
    } else if (pattern == KnownSplit::Gpt2) {
      made.known_ = KnownSplit::SmolLm;
    }
  }

  std::vector<StagePlan> plan_;
};

Result<PreTokenizer> PreTokenizer::from_json(std::optional<JsonDoc::Value> value,
                                             std::string path) {
  PreTokenizerLoader loader;
  if (value) RETURN_IF_ERROR(loader.load(*value, path));
  return loader.finish();
}

Status PreTokenizer::run(Pieces& pieces, bool bytes) const {
  const size_t count = stages_.size() - (bytes && spells_bytes_ ? 1 : 0);
  const size_t most = most_growth(pieces.text.size());
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(stages_[i]->apply(pieces));
    if (pieces.text.size() > most) {
      return error(Code::ResourceExhausted, "the pre-tokenizer makes {} bytes and more", most);
    }
  }
  return {};
}

}  // namespace sluice
