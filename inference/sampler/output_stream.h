#pragma once
#include "inference/sampler/stop_rules.h"
#include "models/tokenizer/tokenizer.h"

#include <memory>
#include <optional>
#include <string>

namespace sluice {

/// One sample's tokens on their way to the client: decides when it ends, and gives the text that is
/// certain. Text never ends inside a character, is never taken back, and holds no part of a stop
/// string (unless include_stop_string); all of it together is what decoding the tokens at once
/// gives, up to the stop. The ids are the caller's: they include the one that ended the sample.
/// One thread; survives preemption as it is.
///
///   OutputStream stream(rules, tokenizer);
///   OutputStream::Update update = stream.put(token);
///   send(update.text);
///   if (update.finish != FinishReason::None) end(update.finish);
class OutputStream {
 public:
  struct Update {
    std::string text{};
    FinishReason finish = FinishReason::None;
    int64_t stop_token = -1;                   ///< the id that ended it
    int32_t stop_string = StopMatcher::kNone;  ///< index in SamplingParams::stop
  };

  /// `tokenizer` outlives the stream; null: ids only, and there must be no stop strings.
  OutputStream(std::shared_ptr<const StopRules> rules, const Tokenizer* tokenizer,
               DecodeOptions options = {});

  /// The next token. Not after it ended.
  Update put(int64_t token);
  /// Ends it from outside (Abort): the text that was held back.
  std::string close();

  [[nodiscard]] int64_t generated() const noexcept { return generated_; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  /// Text through the stop strings; ends the update when one is complete.
  void pass(const std::string& text, Update& update);
  void end(FinishReason reason, Update& update);

  std::shared_ptr<const StopRules> rules_;
  std::optional<StreamDecoder> decoder_;
  StopFilter filter_;
  int64_t generated_ = 0;
  bool ended_ = false;
};

}  // namespace sluice
