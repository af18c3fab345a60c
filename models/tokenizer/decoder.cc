#include "models/tokenizer/decoder.h"

#include "models/tokenizer/decoder_stages.h"

namespace sluice {

Result<Decoder> Decoder::from_json(std::optional<JsonDoc::Value> value, const std::string& path) {
  Decoder decoder;
  if (value) {
    RETURN_IF_ERROR(decoder.load(*value, path));
  } else {
    decoder.makers_.emplace_back(join_with_spaces);
  }
  decoder.spells_bytes_ = decoder.spells_bytes_ && decoder.makers_.size() == 1;
  return decoder;
}

Status Decoder::load(JsonDoc::Value value, const std::string& path) {
  ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(value, path));
  ASSIGN_OR_RETURN(const std::string type, fields.text("type"));
  if (type == "Sequence") {
    ASSIGN_OR_RETURN(const auto list, fields.require("decoders", JsonDoc::Kind::Array));
    for (size_t i = 0; i < list.size(); ++i) {
      RETURN_IF_ERROR(load(list.item(i), fmt::format("{}.decoders[{}]", path, i)));
    }
    return {};
  }
  std::string known = "Sequence";
  for (const auto& [name, read] : decoder_types()) {
    known += fmt::format(", {}", name);
    if (name != type) continue;
    if (makers_.size() == kMostSteps) return fields.wrong("type", "more than 64 steps");
    ASSIGN_OR_RETURN(auto maker, read(fields));
    makers_.push_back(std::move(maker));
    if (type == "ByteLevel") spells_bytes_ = true;
    return {};
  }
  return fields.wrong("type", fmt::format("unknown decoder {}; known: {}", quoted(type), known));
}

Decoder::Run::Run(const Decoder& decoder) : sink_(std::make_unique<Sink>()) {
  for (const auto& make : decoder.makers_) {
    stages_.push_back(make());
    if (stages_.size() > 1) stages_[stages_.size() - 2]->lead_to(stages_.back().get());
  }
  if (!stages_.empty()) stages_.back()->lead_to(sink_.get());
}

void Decoder::Run::put(std::string_view token, std::string& out) {
  sink_->out = &out;
  DecoderStage& first = stages_.empty() ? *sink_ : *stages_.front();
  first.put(token, true);
}

void Decoder::Run::finish(std::string& out) {
  sink_->out = &out;
  if (!stages_.empty()) stages_.front()->finish();
}

}  // namespace sluice
