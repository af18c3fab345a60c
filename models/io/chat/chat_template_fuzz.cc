// Any bytes as a template over a small conversation: parsing and rendering neither crash nor run
// away, and every failure is one line that names a line of the template.
#include "models/io/chat/chat_template.h"
#include "models/io/chat/unicode.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

const nlohmann::ordered_json& messages() {
  static const auto kMessages = nlohmann::ordered_json::parse(R"([
    {"role": "system", "content": "Be \"brief\"."},
    {"role": "user", "content": "Gr\u00fc\u00dfe \ud83d\ude00\n"},
    {"role": "assistant", "content": null, "tool_calls": [{"type": "function", "id": "abcdefghi",
      "function": {"name": "f", "arguments": {"x": [1, 2.5, true, null]}}}]},
    {"role": "tool", "content": "{}", "tool_call_id": "abcdefghi"},
    {"role": "assistant", "content": "<think>a</think>b"}])");
  return kMessages;
}

void check(const sluice::Status& status) {
  if (status.ok()) return;
  const std::string& text = status.message();
  const bool one_line = text.find('\n') == std::string::npos;
  if (!one_line || !text.starts_with("chat template line ")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto chat = sluice::ChatTemplate::parse(source);
  check(chat.status());
  if (!chat.ok()) return 0;
  sluice::ChatOptions options;
  options.add_generation_prompt = size % 2 == 0;
  options.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  options.now = [] { return std::tm{}; };
  options.limits.max_steps = 50'000;
  options.limits.max_output_bytes = 1 << 18;
  options.limits.max_memory_bytes = 8 << 20;
  const auto out = chat->render(messages(), options);
  check(out.status());
  if (!out.ok()) return 0;
  if (out->text.size() > options.limits.max_output_bytes) std::abort();
  for (const auto& span : out->generated) {
    if (span.begin > span.end || span.end > out->text.size()) std::abort();
  }
  return 0;
}
