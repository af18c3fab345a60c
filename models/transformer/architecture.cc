#include "models/transformer/architecture.h"

#include "models/json/strict_json.h"
#include "models/transformer/arch/arch.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice {

const std::vector<const Architecture*>& architectures() {
  static const std::vector<const Architecture*> all = {
#define SLUICE_FAMILY(name) &arch::name(),
#include "models/transformer/arch/families.def"
#undef SLUICE_FAMILY
  };
  return all;
}

const Architecture& architecture_of(const TransformerConfig& config) {
  for (const Architecture* a : architectures()) {
    if (a->family == config.family) return *a;
  }
  SLUICE_CHECK(false) << "no architecture family '" << config.family << "'";
  return *architectures().front();
}

namespace {

Status unknown(std::string_view name) {
  std::vector<std::string> known;
  for (const Architecture* a : architectures()) known.push_back(a->causal_lm);
  return error(Code::Unimplemented, "config.json: unknown architecture '{}' (known: {})", name,
               fmt::join(known, ", "));
}

void read_token_ids(HfConfig& hf, const nlohmann::json& config, TransformerConfig& c) {
  c.bos_token = std::max<int64_t>(-1, hf.integer("bos_token_id", -1));
  c.pad_token = std::max<int64_t>(-1, hf.integer("pad_token_id", -1));
  if (!hf.has("eos_token_id")) return;
  c.eos_tokens = config["eos_token_id"].is_array()
                     ? hf.integers("eos_token_id")
                     : std::vector<int64_t>{hf.integer("eos_token_id")};
  std::erase_if(c.eos_tokens, [](int64_t id) { return id < 0; });
}

/// All three, also when there are none: an absent key would mean the family's usual ids.
void write_token_ids(const TransformerConfig& c, nlohmann::json& out) {
  out["bos_token_id"] = nullptr;
  out["pad_token_id"] = nullptr;
  out["eos_token_id"] = nullptr;
  if (c.bos_token >= 0) out["bos_token_id"] = c.bos_token;
  if (c.pad_token >= 0) out["pad_token_id"] = c.pad_token;
  if (c.eos_tokens.size() == 1) out["eos_token_id"] = c.eos_tokens.front();
  if (c.eos_tokens.size() > 1) out["eos_token_id"] = c.eos_tokens;
}

Result<TransformerConfig> read_config(const nlohmann::json& config) {
  HfConfig hf(config);
  const auto names = hf.texts("architectures");
  const std::string model_type = hf.text("model_type", "");
  RETURN_IF_ERROR(hf.status());
  const std::string name = names.empty() ? "" : names.front();
  const Architecture* found = nullptr;
  for (const Architecture* a : architectures()) {
    const bool named = name == a->causal_lm || name == a->base ||
                       (!a->classifier.empty() && name == a->classifier);
    if (names.empty() ? model_type == a->model_type : named) found = a;
  }
  if (found == nullptr) return unknown(names.empty() ? model_type : name);
  TransformerConfig read = found->read(hf);
  read.family = found->family;
  read_token_ids(hf, config, read);
  if (!found->classifier.empty() && name == found->classifier) {
    read.head = HeadKind::Classifier;
    read.tied_head = false;
    const bool counted = hf.has("num_labels") || !config.contains("id2label");
    read.num_labels =
        counted ? hf.integer("num_labels", 2) : static_cast<int64_t>(config["id2label"].size());
  }
  RETURN_IF_ERROR(hf.status());
  RETURN_IF_ERROR(check(read).with_context("config.json"));
  return read;
}

}  // namespace

Result<TransformerConfig> read_hf_config(const nlohmann::json& config) {
  auto read = read_config(config);
  if (!read.ok()) return one_line(read.status());
  return read;
}

nlohmann::json write_hf_config(const TransformerConfig& config) {
  const Architecture& a = architecture_of(config);
  nlohmann::json out = a.write(config);
  write_token_ids(config, out);
  out["model_type"] = a.model_type;
  if (config.head == HeadKind::Language) {
    out["architectures"] = {a.causal_lm};
  } else {
    const int64_t labels = config.head == HeadKind::Value ? 1 : config.num_labels;
    out["architectures"] = {a.classifier};
    auto& id2label = out["id2label"] = nlohmann::json::object();
    auto& label2id = out["label2id"] = nlohmann::json::object();
    for (int64_t i = 0; i < labels; ++i) {
      id2label[std::to_string(i)] = fmt::format("LABEL_{}", i);
      label2id[fmt::format("LABEL_{}", i)] = i;
    }
  }
  return out;
}

TensorSource tensor_source(const TransformerConfig& config, const std::string& parameter) {
  const Architecture& a = architecture_of(config);
  return a.source == nullptr ? TensorSource{parameter} : a.source(config, parameter);
}

}  // namespace sluice
