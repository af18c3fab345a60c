#include "inference/sampler/output_stream.h"

namespace sluice {

OutputStream::OutputStream(std::shared_ptr<const StopRules> rules, const Tokenizer* tokenizer,
                           DecodeOptions options)
    : rules_(std::move(rules)), filter_(&rules_->strings()) {
  SLUICE_CHECK(tokenizer != nullptr || rules_->strings().empty())
      << "stop strings without a tokenizer";
  if (tokenizer != nullptr) decoder_.emplace(tokenizer->stream(options));
}

OutputStream::Update OutputStream::put(int64_t token) {
  SLUICE_CHECK(!ended_) << "a token after the end";
  ++generated_;
  Update update;
  const FinishReason by_id = rules_->after(token, generated_);
  if (by_id == FinishReason::Stop) update.stop_token = token;
  const bool visible = by_id != FinishReason::Stop || rules_->include_stop_string();
  if (decoder_ && visible) pass(decoder_->put(static_cast<TokenId>(token)), update);
  if (by_id != FinishReason::None) end(by_id, update);
  return update;
}

std::string OutputStream::close() {
  Update update;
  if (!ended_) end(FinishReason::Abort, update);
  return std::move(update.text);
}

void OutputStream::pass(const std::string& text, Update& update) {
  const int32_t stop = filter_.put(text, rules_->string_may_stop(generated_),
                                   rules_->include_stop_string(), update.text);
  if (stop == StopMatcher::kNone) return;
  ended_ = true;
  update.stop_string = stop;
  update.finish = FinishReason::Stop;
}

void OutputStream::end(FinishReason reason, Update& update) {
  // A decoder may hold text back that completes a stop string.
  if (!ended_ && decoder_) pass(decoder_->finish(), update);
  if (ended_) return;
  filter_.flush(update.text);
  ended_ = true;
  update.finish = reason;
}

}  // namespace sluice
