#include "models/tokenizer/normalizer.h"

#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/pattern.h"
#include "models/tokenizer/unicode.h"
#include "models/tokenizer/utf8.h"

#include <functional>

namespace sluice {
namespace {

using Stage = std::unique_ptr<NormalizerStage>;

class FunctionStage final : public NormalizerStage {
 public:
  using Function = std::function<Status(std::string&)>;
  explicit FunctionStage(Function function) : function_(std::move(function)) {}
  Status apply(std::string& text) const override { return function_(text); }

 private:
  Function function_;
};

Stage stage(FunctionStage::Function function) {
  return std::make_unique<FunctionStage>(std::move(function));
}

template <unicode::Form form>
Result<Stage> make_form(const JsonFields& /*fields*/) {
  return stage([](std::string& text) -> Status {
    unicode::normalize(form, text);
    return {};
  });
}

Result<Stage> make_lowercase(const JsonFields& /*fields*/) {
  return stage([](std::string& text) -> Status {
    unicode::lowercase(text);
    return {};
  });
}

Result<Stage> make_strip_accents(const JsonFields& /*fields*/) {
  return stage([](std::string& text) -> Status {
    unicode::strip_accents(text);
    return {};
  });
}

void strip(std::string& text, bool left, bool right) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  while (left && begin < end && (unicode::flags_at(begin) & unicode::kSpace) != 0) {
    begin += utf8::length_of(*begin);
  }
  while (right && begin < end && (unicode::flags_at(utf8::previous(end)) & unicode::kSpace) != 0) {
    end = utf8::previous(end);
  }
  text = std::string(begin, end);
}

Result<Stage> make_strip(const JsonFields& fields) {
  ASSIGN_OR_RETURN(const bool left, fields.boolean_or("strip_left", true));
  ASSIGN_OR_RETURN(const bool right, fields.boolean_or("strip_right", true));
  return stage([left, right](std::string& text) -> Status {
    strip(text, left, right);
    return {};
  });
}

Result<Stage> make_prepend(const JsonFields& fields) {
  ASSIGN_OR_RETURN(const std::string prefix, fields.text("prepend"));
  return stage([prefix](std::string& text) -> Status {
    if (!text.empty()) text.insert(0, prefix);
    return {};
  });
}

Result<Stage> make_replace(const JsonFields& fields) {
  ASSIGN_OR_RETURN(Pattern pattern, Pattern::from_json(fields, "pattern"));
  ASSIGN_OR_RETURN(const std::string content, fields.text("content"));
  auto shared = std::make_shared<const Pattern>(std::move(pattern));
  return stage([shared, content](std::string& text) {
    return shared->replace_all(text, content, most_growth(text.size()));
  });
}

Result<Stage> make_byte_level(const JsonFields& /*fields*/) {
  return stage([](std::string& text) -> Status {
    text = byte_alphabet::encode(text);
    return {};
  });
}

using Make = Result<Stage> (*)(const JsonFields&);
constexpr std::pair<std::string_view, Make> kTypes[] = {
    {"NFC", make_form<unicode::Form::Nfc>},
    {"NFD", make_form<unicode::Form::Nfd>},
    {"NFKC", make_form<unicode::Form::Nfkc>},
    {"NFKD", make_form<unicode::Form::Nfkd>},
    {"Lowercase", make_lowercase},
    {"Strip", make_strip},
    {"StripAccents", make_strip_accents},
    {"Prepend", make_prepend},
    {"Replace", make_replace},
    {"ByteLevel", make_byte_level},
    {"Precompiled", make_charsmap},
};

}  // namespace

Result<Normalizer> Normalizer::from_json(std::optional<JsonDoc::Value> value,
                                         const std::string& path) {
  Normalizer normalizer;
  if (value) RETURN_IF_ERROR(normalizer.load(*value, path));
  return normalizer;
}

Status Normalizer::load(JsonDoc::Value value, const std::string& path) {
  ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(value, path));
  ASSIGN_OR_RETURN(const std::string type, fields.text("type"));
  if (type == "Sequence") {
    ASSIGN_OR_RETURN(const auto list, fields.require("normalizers", JsonDoc::Kind::Array));
    for (size_t i = 0; i < list.size(); ++i) {
      RETURN_IF_ERROR(load(list.item(i), fmt::format("{}.normalizers[{}]", path, i)));
    }
    return {};
  }
  std::string known = "Sequence";
  for (const auto& [name, make] : kTypes) {
    known += fmt::format(", {}", name);
    if (name != type) continue;
    if (stages_.size() == kMostSteps) return fields.wrong("type", "more than 64 steps");
    ASSIGN_OR_RETURN(auto made, make(fields));
    stages_.push_back(std::move(made));
    return {};
  }
  return fields.wrong("type", fmt::format("unknown normalizer {}; known: {}", quoted(type), known));
}

Status Normalizer::apply(std::string& text) const {
  const size_t most = most_growth(text.size());
  for (const auto& stage : stages_) {
    RETURN_IF_ERROR(stage->apply(text));
    if (text.size() > most) {
      return error(Code::ResourceExhausted, "the normalizer makes {} bytes and more", most);
    }
  }
  return {};
}

}  // namespace sluice
