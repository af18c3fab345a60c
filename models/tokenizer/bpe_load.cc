#include "models/tokenizer/bpe.h"
#include "models/tokenizer/byte_alphabet.h"

namespace sluice {

using Kind = JsonDoc::Kind;

Result<std::unique_ptr<TokenModel>> Bpe::from_json(const JsonFields& fields) {
  auto model = std::make_unique<Bpe>();
  if (const auto dropout = fields.find("dropout")) {
    if (!dropout->is_number() || dropout->real() != 0) {
      return fields.wrong("dropout", "random merges are not supported: null or 0 is");
    }
  }
  ASSIGN_OR_RETURN(const auto unk, fields.optional("unk_token", Kind::String));
  if (unk) model->unk_token_ = unk->string();
  ASSIGN_OR_RETURN(model->prefix_, fields.text_or("continuing_subword_prefix", ""));
  ASSIGN_OR_RETURN(model->suffix_, fields.text_or("end_of_word_suffix", ""));
  ASSIGN_OR_RETURN(model->fuse_unk_, fields.boolean_or("fuse_unk", false));
  ASSIGN_OR_RETURN(model->byte_fallback_, fields.boolean_or("byte_fallback", false));
  ASSIGN_OR_RETURN(model->ignore_merges_, fields.boolean_or("ignore_merges", false));
  RETURN_IF_ERROR(model->read_vocabulary(fields));
  RETURN_IF_ERROR(model->read_merges(fields));
  model->prepare();
  return std::unique_ptr<TokenModel>(std::move(model));
}

Status Bpe::read_vocabulary(const JsonFields& fields) {
  ASSIGN_OR_RETURN(const JsonDoc::Value vocab, fields.require("vocab", Kind::Object));
  const uint32_t most = max_token_id(vocab.size());
  const auto path = [&](size_t i) {
    return fmt::format("{}.vocab[{}]", fields.path(), quoted(vocab.key(i)));
  };
  uint32_t largest = 0;
  for (size_t i = 0; i < vocab.size(); ++i) {
    const auto id = json_number(vocab.member(i), most, "");
    if (!id.ok()) return json_number(vocab.member(i), most, path(i)).status();
    largest = std::max(largest, *id);
  }
  vocabulary_.reserve(vocab.size(), vocab.size() == 0 ? 0 : size_t{largest} + 1);
  for (size_t i = 0; i < vocab.size(); ++i) {
    const auto id = static_cast<TokenId>(vocab.member(i).integer());
    if (vocabulary_.add(vocab.key(i), id) != Vocabulary::Added::Yes) {
      return invalid_argument("{}: id {} is that of {} too", path(i), id,
                              quoted(vocabulary_.text(id)));
    }
  }
  return {};
}

Status Bpe::read_merges(const JsonFields& fields) {
  ASSIGN_OR_RETURN(const JsonDoc::Value merges, fields.require("merges", Kind::Array));
  merges_ = PairTable(merges.size());
  size_t rank = 0;
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto path = [&] { return fmt::format("{}.merges[{}]", fields.path(), i); };
    const JsonDoc::Value merge = merges.item(i);
    std::string_view left;
    std::string_view right;
    if (merge.is(Kind::String)) {
      const std::string_view line = merge.string();
      if (line.starts_with("#version")) continue;
      const size_t space = line.find(' ');
      if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
        return invalid_argument("{}: {} is not two parts with one space between", path(),
                                quoted(line));
      }
      left = line.substr(0, space);
      right = line.substr(space + 1);
    } else if (merge.is(Kind::Array)) {
      if (merge.size() != 2 || !merge.item(0).is(Kind::String) || !merge.item(1).is(Kind::String)) {
        return invalid_argument("{}: is not a pair of two strings", path());
      }
      left = merge.item(0).string();
      right = merge.item(1).string();
    } else {
      return invalid_argument("{}: is {}, not a string or a pair", path(), name(merge.kind()));
    }
    RETURN_IF_ERROR(add_merge(left, right, rank, path()));
    ++rank;
  }
  return {};
}

Status Bpe::add_merge(std::string_view left, std::string_view right, size_t rank,
                      const std::string& path) {
  const auto id_of = [&](std::string_view text, const char* what) -> Result<TokenId> {
    const TokenId id = vocabulary_.find(text);
    if (id != kNoToken) return id;
    return invalid_argument("{}: {} {} is not in the vocabulary", path, what, quoted(text));
  };
  ASSIGN_OR_RETURN(const TokenId a, id_of(left, "part"));
  ASSIGN_OR_RETURN(const TokenId b, id_of(right, "part"));
  if (right.size() < prefix_.size()) {
    return invalid_argument("{}: {} is shorter than continuing_subword_prefix", path,
                            quoted(right));
  }
  const std::string joined = std::string(left) + std::string(right.substr(prefix_.size()));
  ASSIGN_OR_RETURN(const TokenId result, id_of(joined, "result"));
  merges_.put(static_cast<uint32_t>(a), static_cast<uint32_t>(b),
              {static_cast<uint32_t>(rank), static_cast<uint32_t>(result)});
  if (unk_token_ && (left == *unk_token_ || right == *unk_token_)) unk_merges_ = true;
  // Looks for a space mark behind another character.
  constexpr std::string_view kMark = "\xE2\x96\x81";
  size_t head = 0;
  while (joined.compare(head, kMark.size(), kMark) == 0) head += kMark.size();
  if (joined.find(kMark, head) != std::string::npos) splits_at_space_ = false;
  return {};
}

void Bpe::prepare() {
  if (unk_token_) unk_ = vocabulary_.find(*unk_token_);
  takes_bytes_ = prefix_.empty() && suffix_.empty();
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<unsigned char>(b);
    bytes_[b] = vocabulary_.find(byte_alphabet::of(byte));
    fallbacks_[b] = vocabulary_.find(byte_token(byte));
    if (bytes_[b] == kNoToken) takes_bytes_ = false;
  }
  if (!prefix_.empty() || !suffix_.empty() || vocabulary_.find("\xE2\x96\x81") == kNoToken) {
    splits_at_space_ = false;
  }
}

}  // namespace sluice
