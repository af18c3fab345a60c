#include "models/tokenizer/model.h"

#include "models/tokenizer/bpe.h"
#include "models/tokenizer/unigram.h"

namespace sluice {

Result<std::unique_ptr<TokenModel>> TokenModel::from_json(JsonDoc::Value value, std::string path) {
  ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::of(value, std::move(path)));
  ASSIGN_OR_RETURN(std::string type, fields.text_or("type", ""));
  if (type.empty()) {
    // Old files name no type.
    const auto vocab = fields.find("vocab");
    if (fields.find("merges")) type = "BPE";
    if (vocab && vocab->is(JsonDoc::Kind::Array)) type = "Unigram";
  }
  if (type == "BPE") return Bpe::from_json(fields);
  if (type == "Unigram") return Unigram::from_json(fields);
  return fields.wrong("type", fmt::format("unknown model {}; known: BPE, Unigram", quoted(type)));
}

std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace sluice
