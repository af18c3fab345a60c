#include "models/tokenizer/decoder_stages.h"

#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/pattern.h"
#include "models/tokenizer/pre_tokenizer.h"
#include "models/tokenizer/utf8.h"

#include <charconv>

namespace sluice {
namespace {

/// A stage that must see a token as a whole.
class WholeTokens : public DecoderStage {
 public:
  void put(std::string_view text, bool ends) final {
    if (!ends) {
      held_ += text;
      return;
    }
    if (held_.empty()) {
      token(text);
      return;
    }
    held_ += text;
    token(held_);
    held_.clear();
  }

 protected:
  virtual void token(std::string_view text) = 0;

 private:
  std::string held_;
};

class ByteLevelStage final : public WholeTokens {
 public:
  void finish() override {
    next_->put(pending_.empty() ? std::string_view() : utf8::kReplacement, true);
    next_->finish();
  }

 private:
  void token(std::string_view text) override {
    bytes_.clear();
    if (!byte_alphabet::decode(text, bytes_)) bytes_ = text;
    text_.clear();
    utf8::append_lossy(pending_, bytes_, text_);
    if (!text_.empty()) next_->put(text_, false);
  }
  std::string pending_;
  std::string bytes_;
  std::string text_;
};

class ReplaceStage final : public WholeTokens {
 public:
  ReplaceStage(std::shared_ptr<const Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

 private:
  void token(std::string_view text) override {
    text_ = text;
    // A token that takes too long to match or grows too far stays as it is: decoding does not fail.
    constexpr size_t kMost = 1 << 20;
    if (!pattern_->replace_all(text_, content_, kMost).ok()) text_ = text;
    next_->put(text_, true);
  }
  std::shared_ptr<const Pattern> pattern_;
  std::string content_;
  std::string text_;
};

/// Whether a run of byte tokens is text is known when it ends, so runs are held back.
class ByteFallbackStage final : public WholeTokens {
 public:
  void finish() override {
    flush();
    next_->finish();
  }

 private:
  void token(std::string_view text) override {
    if (text.size() == 6 && text.starts_with("<0x") && text.ends_with('>')) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
      if (error == std::errc() && end == text.data() + 5) {
        bytes_ += static_cast<char>(value);
        return;
      }
    }
    flush();
    next_->put(text, true);
  }
  void flush() {
    if (bytes_.empty()) return;
    if (utf8::valid(bytes_)) {
      next_->put(bytes_, true);
    } else {
      for (size_t i = 0; i < bytes_.size(); ++i) next_->put(utf8::kReplacement, true);
    }
    bytes_.clear();
  }
  std::string bytes_;
};

class FuseStage final : public DecoderStage {
 public:
  void put(std::string_view text, bool /*ends*/) override { next_->put(text, false); }
  void finish() override {
    next_->put("", true);
    next_->finish();
  }
};

class StripStage final : public DecoderStage {
 public:
  StripStage(std::string content, uint32_t start, uint32_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  void put(std::string_view text, bool ends) override {
    while (cut_ < start_ && text.starts_with(content_)) {
      text.remove_prefix(content_.size());
      ++cut_;
    }
    if (!text.empty()) cut_ = start_;
    // The last `stop_` of the token are cut when the token ends there.
    std::string joined = content_run(held_);
    joined += text;
    text = joined;
    held_ = 0;
    size_t keep = text.size();
    while (held_ < stop_ && text.substr(0, keep).ends_with(content_)) {
      keep -= content_.size();
      ++held_;
    }
    if (ends) held_ = cut_ = 0;
    next_->put(text.substr(0, keep), ends);
  }

 private:
  [[nodiscard]] std::string content_run(uint32_t count) const {
    std::string run;
    for (uint32_t i = 0; i < count; ++i) run += content_;
    return run;
  }
  std::string content_;
  uint32_t start_;
  uint32_t stop_;
  uint32_t cut_ = 0;   ///< cut from the beginning of this token
  uint32_t held_ = 0;  ///< content held back at its end
};

class MetaspaceStage final : public DecoderStage {
 public:
  explicit MetaspaceStage(MetaspaceSpec spec) : spec_(std::move(spec)) {}

  void put(std::string_view text, bool ends) override {
    std::string out;
    const bool drop = first_ && spec_.prepend != MetaspaceSpec::Prepend::Never;
    for (size_t at = 0; at < text.size();) {
      const size_t mark = std::min(text.find(spec_.replacement, at), text.size());
      out += text.substr(at, mark - at);
      if (mark == text.size()) break;
      if (!drop) out += ' ';
      at = mark + spec_.replacement.size();
    }
    if (ends) first_ = false;
    next_->put(out, ends);
  }

 private:
  MetaspaceSpec spec_;
  bool first_ = true;
};

class JoinStage final : public DecoderStage {
 public:
  void put(std::string_view text, bool ends) override {
    if (begins_ && !first_) next_->put(" ", false);
    first_ = false;
    begins_ = ends;
    next_->put(text, ends);
  }

 private:
  bool first_ = true;
  bool begins_ = true;
};

Result<MakeDecoderStage> read_byte_level(const JsonFields& /*fields*/) {
  return MakeDecoderStage([] { return std::make_unique<ByteLevelStage>(); });
}
Result<MakeDecoderStage> read_byte_fallback(const JsonFields& /*fields*/) {
  return MakeDecoderStage([] { return std::make_unique<ByteFallbackStage>(); });
}
Result<MakeDecoderStage> read_fuse(const JsonFields& /*fields*/) {
  return MakeDecoderStage([] { return std::make_unique<FuseStage>(); });
}

Result<MakeDecoderStage> read_replace(const JsonFields& fields) {
  ASSIGN_OR_RETURN(Pattern pattern, Pattern::from_json(fields, "pattern"));
  ASSIGN_OR_RETURN(const std::string content, fields.text("content"));
  auto shared = std::make_shared<const Pattern>(std::move(pattern));
  return MakeDecoderStage(
      [shared, content] { return std::make_unique<ReplaceStage>(shared, content); });
}

Result<MakeDecoderStage> read_strip(const JsonFields& fields) {
  constexpr uint32_t kMost = 1 << 16;
  ASSIGN_OR_RETURN(const std::string content, fields.text("content"));
  if (content.empty() || utf8::length_of(content[0]) != content.size()) {
    return fields.wrong("content", "is not one character");
  }
  ASSIGN_OR_RETURN(const uint32_t start, fields.number("start", kMost));
  ASSIGN_OR_RETURN(const uint32_t stop, fields.number("stop", kMost));
  return MakeDecoderStage(
      [content, start, stop] { return std::make_unique<StripStage>(content, start, stop); });
}

Result<MakeDecoderStage> read_metaspace(const JsonFields& fields) {
  ASSIGN_OR_RETURN(const MetaspaceSpec spec, MetaspaceSpec::from_json(fields));
  return MakeDecoderStage([spec] { return std::make_unique<MetaspaceStage>(spec); });
}

}  // namespace

std::unique_ptr<DecoderStage> join_with_spaces() { return std::make_unique<JoinStage>(); }

const std::vector<std::pair<std::string_view, ReadDecoder>>& decoder_types() {
  static const std::vector<std::pair<std::string_view, ReadDecoder>> types = {
      {"ByteLevel", read_byte_level},
      {"Replace", read_replace},
      {"ByteFallback", read_byte_fallback},
      {"Fuse", read_fuse},
      {"Strip", read_strip},
      {"Metaspace", read_metaspace},
  };
  return types;
}

}  // namespace sluice
