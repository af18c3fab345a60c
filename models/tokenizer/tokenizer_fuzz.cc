// Any bytes as a tokenizer.json. What loads must encode and decode without a crash, and its stream
// must give what decoding at once gives.
#include "models/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = sluice::Tokenizer::from_json(text);
  if (!tokenizer.ok()) {
    const std::string& message = tokenizer.status().message();
    SLUICE_CHECK(message.find('\n') == std::string::npos) << message;
    return 0;
  }
  // The file's own end is text of the file's own alphabet, whole characters or not.
  const std::string_view tail = text.substr(text.size() - std::min<size_t>(text.size(), 200));
  const std::string_view samples[] = {"a b  c\n 12 it's <s>\xF0\x9F\x98\x80\xFF", tail};
  for (const std::string_view sample : samples) {
    const auto ids = (*tokenizer)->encode(sample);
    if (!ids.ok()) continue;
    for (const sluice::TokenId id : *ids) {
      SLUICE_CHECK(id >= 0 && static_cast<size_t>(id) < (*tokenizer)->vocab_size()) << id;
    }
    auto stream = (*tokenizer)->stream();
    std::string streamed;
    for (const sluice::TokenId id : *ids) streamed += stream.put(id);
    streamed += stream.finish();
    SLUICE_CHECK(streamed == (*tokenizer)->decode(*ids)) << streamed;
  }
  return 0;
}
