#pragma once
#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/vocabulary.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The post_processor member of tokenizer.json: special tokens around a text. Immutable.
class PostProcessor {
 public:
  /// `value` empty: nothing is added. InvalidArgument for an unknown type names the known ones.
  static Result<PostProcessor> from_json(std::optional<JsonDoc::Value> value,
                                         const std::string& path);

  void apply(std::vector<TokenId>& ids) const;
  /// Every id that it adds.
  [[nodiscard]] std::vector<TokenId> ids() const;

 private:
  struct Frame {
    std::vector<TokenId> before;
    std::vector<TokenId> behind;
  };
  Status load(JsonDoc::Value value, const std::string& path);
  Status load_template(const JsonFields& fields);
  Status load_pair(const JsonFields& fields);
  std::vector<Frame> frames_;  ///< the innermost first
};

}  // namespace sluice
