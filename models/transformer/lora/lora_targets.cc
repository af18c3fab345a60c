#include "models/transformer/lora/lora_targets.h"

#include "dataflow/base/nearest.h"
#include "models/transformer/lora/name_pattern.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace sluice {
namespace {
bool ends_with_module(const std::string& name, const std::string& suffix) {
  return name == suffix || (name.size() > suffix.size() && name.ends_with(suffix) &&
                            name[name.size() - suffix.size() - 1] == '.');
}

bool among(const std::string& name, const std::vector<std::string>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const std::string& s) { return ends_with_module(name, s); });
}

/// The first ".<number>." of a name, as PEFT finds the index of a layer.
std::optional<int64_t> layer_index(const std::string& name) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const char* first = name.data() + dot + 1;
    int64_t index = 0;
    const auto [last, problem] = std::from_chars(first, name.data() + name.size(), index);
    const bool number = problem == std::errc() && last != first && *first != '-';
    if (number && last != name.data() + name.size() && *last == '.') return index;
  }
  return std::nullopt;
}

/// "q_proj" and "model.layers.0.self_attn.q_proj" both serve as names.
Status check_names(const std::vector<std::string>& names, const char* key,
                   std::span<const LoraLayer> layers) {
  for (const std::string& name : names) {
    if (std::any_of(layers.begin(), layers.end(),
                    [&](const LoraLayer& l) { return ends_with_module(l.linear.name, name); })) {
      continue;
    }
    std::set<std::string> known;
    for (const LoraLayer& layer : layers) {
      const std::string& full = layer.linear.name;
      known.insert(full.substr(full.rfind('.') + 1));  // npos + 1 is 0
      if (name.find('.') != std::string::npos) known.insert(full);
    }
    const std::vector<std::string> list(known.begin(), known.end());
    const std::string hint = did_you_mean(name, list);
    if (!hint.empty()) {
      return error(Code::NotFound, "{}: the model has no linear layer '{}'{}", key, name, hint);
    }
    return error(Code::NotFound, "{}: the model has no linear layer '{}'; it has {}", key, name,
                 fmt::join(list, ", "));
  }
  return {};
}

/// A choice of modules, ready to be asked.
class Chooser {
 public:
  static Result<Chooser> make(const ModuleChoice& choice) {
    Chooser out;
    out.choice_ = &choice;
    if (choice.names.empty() && !choice.pattern.empty() &&
        choice.pattern != LoraConfig::kAllLinear) {
      ASSIGN_OR_RETURN(out.pattern_, NamePattern::compile(choice.pattern));
    }
    return out;
  }
  [[nodiscard]] Result<bool> picks(const LoraLayer& layer) const {
    if (!choice_->names.empty()) return among(layer.linear.name, choice_->names);
    if (choice_->pattern.empty()) return false;
    return pattern_ ? pattern_->matches(layer.linear.name) : Result<bool>(!layer.head);
  }

 private:
  const ModuleChoice* choice_ = nullptr;
  std::optional<NamePattern> pattern_;
};

/// The value of the first pattern that a name matches.
template <class T>
Result<T> by_pattern(const std::map<std::string, T>& patterns, const std::string& name,
                     T otherwise) {
  for (const auto& [pattern, value] : patterns) {
    ASSIGN_OR_RETURN(const NamePattern compiled, NamePattern::compile_suffix(pattern));
    ASSIGN_OR_RETURN(const bool found, compiled.matches(name));
    if (found) return value;
  }
  return otherwise;
}
}  // namespace

Result<LoraTargets> select_targets(const LoraConfig& config, std::span<const LoraLayer> layers,
                                   NamesMust names) {
  RETURN_IF_ERROR(config.check());
  if (names == NamesMust::AllExist) {
    RETURN_IF_ERROR(check_names(config.targets.names, "target_modules", layers));
    RETURN_IF_ERROR(check_names(config.modules_to_save, "modules_to_save", layers));
  }
  ASSIGN_OR_RETURN(const Chooser wanted, Chooser::make(config.targets));
  ASSIGN_OR_RETURN(const Chooser excluded, Chooser::make(config.excluded));
  LoraTargets out;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string& name = layers[i].linear.name;
    if (among(name, config.modules_to_save)) {
      if (layers[i].tied) {
        return error(Code::Unimplemented,
                     "modules_to_save: '{}' is tied to the embedding and cannot be saved alone",
                     name);
      }
      out.saved.push_back(i);
      continue;
    }
    ASSIGN_OR_RETURN(const bool picked, wanted.picks(layers[i]));
    ASSIGN_OR_RETURN(const bool out_again, excluded.picks(layers[i]));
    if (!picked || out_again) continue;
    const bool whole_name = std::find(config.targets.names.begin(), config.targets.names.end(),
                                      name) != config.targets.names.end();
    if (!config.layers.empty() && !whole_name) {
      const std::optional<int64_t> index = layer_index(name);
      if (!index ||
          std::find(config.layers.begin(), config.layers.end(), *index) == config.layers.end()) {
        continue;
      }
    }
    if (layers[i].head) {
      return error(Code::Unimplemented,
                   "target_modules: an adapter on the head '{}' is not supported{}", name,
                   layers[i].tied ? "" : "; modules_to_save can train it whole");
    }
    ASSIGN_OR_RETURN(const int64_t rank, by_pattern(config.rank_pattern, name, config.rank));
    ASSIGN_OR_RETURN(const double alpha, by_pattern(config.alpha_pattern, name, config.alpha));
    out.adapters.push_back({i, rank, config.scale(rank, alpha)});
  }
  if (out.adapters.empty()) {
    return error(Code::NotFound, "target_modules: {} is no linear layer of the model",
                 config.targets.names.empty()
                     ? fmt::format("what matches '{}'", config.targets.pattern)
                     : fmt::format("'{}'", fmt::join(config.targets.names, "', '")));
  }
  return out;
}

}  // namespace sluice
