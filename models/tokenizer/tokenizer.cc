#include "models/tokenizer/tokenizer.h"

#include "dataflow/base/files.h"
#include "models/json/strict_json.h"
#include "models/tokenizer/byte_alphabet.h"

#include <filesystem>

namespace sluice {

/// What one encode call works with; kept for the next, so that words stay remembered.
struct Tokenizer::Scratch {
  WordCache cache;
  Pieces pieces;
  std::string normalized;
  std::string prefixed;
  std::vector<AddedTokens::Part> parts;
  std::vector<AddedTokens::Part> inner;
};

/// Borrows a scratch, and gives it back.
class Tokenizer::Lease {
 public:
  explicit Lease(const Tokenizer& owner) : owner_(owner) {
    for (auto& slot : owner_.idle_) {
      scratch_.reset(slot.exchange(nullptr, std::memory_order_acquire));
      if (scratch_) return;
    }
    scratch_ = std::make_unique<Scratch>();
  }
  ~Lease() {
    for (auto& slot : owner_.idle_) {
      Scratch* free = nullptr;
      if (slot.compare_exchange_strong(free, scratch_.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        (void)scratch_.release();
        return;
      }
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Scratch& get() { return *scratch_; }

 private:
  const Tokenizer& owner_;
  std::unique_ptr<Scratch> scratch_;
};

Tokenizer::Tokenizer() = default;
Tokenizer::~Tokenizer() {
  for (auto& slot : idle_) const std::unique_ptr<Scratch> owned(slot.load());
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_json(std::string_view text,
                                                        std::string_view name,
                                                        LoadOptions options) {
  auto made = build(text, name, options);
  if (!made.ok()) return one_line(made.status());
  return made;
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::build(std::string_view text, std::string_view name,
                                                    LoadOptions options) {
  ASSIGN_OR_RETURN(const JsonDoc doc, JsonDoc::parse(text, name));
  ASSIGN_OR_RETURN(const JsonFields root, JsonFields::of(doc.root(), std::string(name)));
  const auto path = [&](const char* key) { return fmt::format("{}.{}", name, key); };
  std::unique_ptr<Tokenizer> t(new Tokenizer);
  ASSIGN_OR_RETURN(const auto model, root.require("model", JsonDoc::Kind::Object));
  ASSIGN_OR_RETURN(t->model_, TokenModel::from_json(model, path("model")));
  ASSIGN_OR_RETURN(t->normalizer_,
                   Normalizer::from_json(root.find("normalizer"), path("normalizer")));
  ASSIGN_OR_RETURN(t->added_,
                   AddedTokens::from_json(root, t->model_->vocabulary(), t->normalizer_));
  ASSIGN_OR_RETURN(t->pre_tokenizer_,
                   PreTokenizer::from_json(root.find("pre_tokenizer"), path("pre_tokenizer")));
  ASSIGN_OR_RETURN(t->post_processor_,
                   PostProcessor::from_json(root.find("post_processor"), path("post_processor")));
  ASSIGN_OR_RETURN(t->decoder_, Decoder::from_json(root.find("decoder"), path("decoder")));
  t->bytes_mode_ = t->pre_tokenizer_.spells_bytes() && t->model_->takes_bytes();
  if (options.scanners && t->bytes_mode_) t->known_ = t->pre_tokenizer_.known();
  RETURN_IF_ERROR(t->index_tokens(name));
  return t;
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const std::string& path) {
  std::error_code failed;
  std::string file = path;
  if (std::filesystem::is_directory(path, failed)) file += "/tokenizer.json";
  // Before any of it is in memory; a pipe or a device has no size.
  const auto bytes = std::filesystem::file_size(file, failed);
  if (!failed && bytes > JsonDoc::kMaxBytes) {
    return invalid_argument("{}: {} bytes; at most {} are read", file, bytes, JsonDoc::kMaxBytes);
  }
  if (failed && std::filesystem::exists(file, failed)) {
    return error(Code::FailedPrecondition, "{}: not a regular file", file);
  }
  ASSIGN_OR_RETURN(const std::string text, read_file(file));
  return from_json(text, file);
}

Status Tokenizer::index_tokens(std::string_view name) {
  end_ = model_->vocabulary().end();
  for (const AddedToken& token : added_.all()) {
    end_ = std::max(end_, static_cast<size_t>(token.id) + 1);
  }
  kinds_.assign(end_, kAbsent);
  for (size_t i = 0; i < end_; ++i) {
    if (model_->vocabulary().has(static_cast<TokenId>(i))) kinds_[i] = 0;
  }
  for (const AddedToken& token : added_.all()) {
    kinds_[token.id] = token.special ? kSpecial : 0;
    if (added_.is_special(token.text)) kinds_[token.id] |= kSkipped;
  }
  for (const TokenId id : post_processor_.ids()) {
    if (static_cast<size_t>(id) >= end_ || kinds_[id] == kAbsent) {
      return invalid_argument("{}.post_processor: adds id {}, which no token has", name, id);
    }
  }
  if (!decoder_.spells_bytes()) return {};
  bytes_at_.reserve(end_ + 1);
  for (size_t i = 0; i < end_; ++i) {
    bytes_at_.push_back(static_cast<uint32_t>(bytes_.size()));
    const std::string_view text = token(static_cast<TokenId>(i));
    if (!byte_alphabet::decode(text, bytes_)) bytes_ += text;
  }
  bytes_at_.push_back(static_cast<uint32_t>(bytes_.size()));
  return {};
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  constexpr size_t kMaxText = size_t{256} << 20;
  if (text.size() > kMaxText) {
    return invalid_argument("a text of {} bytes; at most {} are taken", text.size(), kMaxText);
  }
  std::string valid;
  if (!utf8::valid(text)) {
    valid = utf8::replace_invalid(text);
    text = valid;
  }
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 16);
  Lease lease(*this);
  RETURN_IF_ERROR(encode_text(text, options, lease.get(), ids));
  if (options.add_special_tokens) post_processor_.apply(ids);
  return ids;
}

Status Tokenizer::encode_text(std::string_view text, EncodeOptions options, Scratch& scratch,
                              std::vector<TokenId>& out) const {
  if (!added_.any(false)) return encode_segment(text, true, options, scratch, out);
  scratch.parts.clear();
  added_.cut(text, false, !options.parse_special, scratch.parts);
  for (const AddedTokens::Part& part : scratch.parts) {
    if (part.token != kNoToken) {
      out.push_back(part.token);
    } else {
      RETURN_IF_ERROR(encode_segment(text.substr(part.begin, part.end - part.begin),
                                     part.begin == 0, options, scratch, out));
    }
  }
  return {};
}

Status Tokenizer::encode_segment(std::string_view text, bool at_start, EncodeOptions options,
                                 Scratch& scratch, std::vector<TokenId>& out) const {
  if (!normalizer_.empty()) {
    scratch.normalized = text;
    RETURN_IF_ERROR(normalizer_.apply(scratch.normalized));
    text = scratch.normalized;
  }
  if (!added_.any(true)) return encode_words(text, at_start, scratch, out);
  scratch.inner.clear();
  added_.cut(text, true, !options.parse_special, scratch.inner);
  for (const AddedTokens::Part& part : scratch.inner) {
    if (part.token != kNoToken) {
      out.push_back(part.token);
    } else {
      RETURN_IF_ERROR(encode_words(text.substr(part.begin, part.end - part.begin),
                                   at_start && part.begin == 0, scratch, out));
    }
  }
  return {};
}

template <KnownSplit kind>
void Tokenizer::encode_known(std::string_view text, Scratch& scratch,
                             std::vector<TokenId>& out) const {
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const char* const word_end = scanner_.next<kind>(p, end);
    model_->encode_bytes({p, static_cast<size_t>(word_end - p)}, end, scratch.cache, out);
    p = word_end;
  }
}

Status Tokenizer::encode_words(std::string_view text, bool at_start, Scratch& scratch,
                               std::vector<TokenId>& out) const {
  if (text.empty()) return {};
  if (known_) {
    if (pre_tokenizer_.prefix_space() && text[0] != ' ') {
      scratch.prefixed = ' ';
      scratch.prefixed += text;
      text = scratch.prefixed;
    }
    switch (*known_) {
      case KnownSplit::Gpt2:
        encode_known<KnownSplit::Gpt2>(text, scratch, out);
        break;
      case KnownSplit::SmolLm:
        encode_known<KnownSplit::SmolLm>(text, scratch, out);
        break;
      case KnownSplit::Llama3:
        encode_known<KnownSplit::Llama3>(text, scratch, out);
        break;
      case KnownSplit::Qwen2:
        encode_known<KnownSplit::Qwen2>(text, scratch, out);
        break;
    }
    return {};
  }
  Pieces& pieces = scratch.pieces;
  pieces.reset(std::string(text), at_start);
  RETURN_IF_ERROR(pre_tokenizer_.run(pieces, bytes_mode_));
  const char* const end = pieces.text.data() + pieces.text.size();
  for (const Pieces::Piece& piece : pieces.pieces) {
    if (bytes_mode_) {
      model_->encode_bytes(pieces.of(piece), end, scratch.cache, out);
    } else {
      RETURN_IF_ERROR(model_->encode(pieces.of(piece), scratch.cache, out));
    }
  }
  return {};
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  std::string out;
  if (!decoder_.spells_bytes()) {
    Decoder::Run run(decoder_);
    for (const TokenId id : ids) {
      if (wanted(id, options)) run.put(token(id), out);
    }
    run.finish(out);
    return out;
  }
  out.reserve(ids.size() * 4 + 16);
  for (const TokenId id : ids) {
    if (wanted(id, options)) out += bytes(id);
  }
  return utf8::valid(out) ? out : utf8::replace_invalid(out);
}

StreamDecoder Tokenizer::stream(DecodeOptions options) const { return {this, options}; }

std::string_view Tokenizer::token(TokenId id) const {
  if (const AddedToken* added = added_.find(id)) return added->text;
  return model_->vocabulary().text(id);
}

std::string Tokenizer::bytes_behind(TokenId id) const {
  if (!wanted(id, {.skip_special_tokens = false})) return {};
  if (decoder_.spells_bytes()) return std::string(bytes(id));
  constexpr std::string_view kBegun = "a";
  const std::string_view text = token(id);
  std::string out;
  Decoder::Run run(decoder_);
  run.put(kBegun, out);
  run.put(text, out);
  run.finish(out);
  out.erase(0, kBegun.size());
  if (text.size() != byte_token(0).size() || out.ends_with(text)) return out;
  // Byte fallback: a byte that is no character by itself.
  for (int byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<unsigned char>(byte);
    if (text == byte_token(b)) return std::string(1, static_cast<char>(b));
  }
  return out;
}

TokenId Tokenizer::id(std::string_view token) const {
  const TokenId added = added_.find(token);
  return added != kNoToken ? added : model_->vocabulary().find(token);
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && static_cast<size_t>(id) < end_ && (kinds_[id] & kSpecial) != 0;
}

StreamDecoder::StreamDecoder(const Tokenizer* tokenizer, DecodeOptions options)
    : tokenizer_(tokenizer), options_(options) {
  if (!tokenizer->decoder_.spells_bytes()) run_.emplace(tokenizer->decoder_);
}

std::string StreamDecoder::put(TokenId id) {
  std::string out;
  if (!tokenizer_->wanted(id, options_)) return out;
  if (run_) {
    run_->put(tokenizer_->token(id), out);
  } else {
    utf8::append_lossy(pending_, tokenizer_->bytes(id), out);
  }
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  if (run_) {
    run_->finish(out);
    run_.emplace(tokenizer_->decoder_);
  } else if (!pending_.empty()) {
    out = utf8::kReplacement;
    pending_.clear();
  }
  return out;
}

}  // namespace sluice
