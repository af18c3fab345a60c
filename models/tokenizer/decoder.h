#pragma once
#include "models/tokenizer/json_fields.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// One step of a decoder, at work on one text. Tokens come in as runs of text; `ends` says that the
/// token is complete with this run. What leaves goes to the next step in the same form.
class DecoderStage {
 public:
  virtual ~DecoderStage() = default;
  /// A run of a token.
  virtual void put(std::string_view text, bool ends) = 0;
  /// No token follows: what was held back leaves.
  virtual void finish() { next_->finish(); }
  void lead_to(DecoderStage* next) { next_ = next; }

 protected:
  DecoderStage* next_ = nullptr;
};

/// The decoder member of tokenizer.json. Immutable; any thread may use it.
class Decoder {
 public:
  /// `value` empty: tokens are joined with spaces. InvalidArgument for an unknown type names the
  /// known ones.
  static Result<Decoder> from_json(std::optional<JsonDoc::Value> value, const std::string& path);

  /// Whether it is ByteLevel alone: then a text is the bytes of its tokens, one after the other.
  [[nodiscard]] bool spells_bytes() const { return spells_bytes_; }

  /// A decoder at work. What is certain is appended to the text given to put and finish; together
  /// all that was appended is what decoding the tokens at once gives.
  class Run {
   public:
    explicit Run(const Decoder& decoder);
    void put(std::string_view token, std::string& out);
    void finish(std::string& out);

   private:
    struct Sink final : DecoderStage {
      void put(std::string_view text, bool /*ends*/) override { *out += text; }
      void finish() override {}
      std::string* out = nullptr;
    };
    std::unique_ptr<Sink> sink_;
    std::vector<std::unique_ptr<DecoderStage>> stages_;
  };

 private:
  Status load(JsonDoc::Value value, const std::string& path);
  std::vector<std::function<std::unique_ptr<DecoderStage>()>> makers_;
  bool spells_bytes_ = false;
};

}  // namespace sluice
