#pragma once
#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/model.h"
#include "models/tokenizer/normalizer.h"

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice {

/// A token that is found in the text itself, before any model sees it.
struct AddedToken {
  std::string content;
  std::string text;  ///< what it decodes to: the content, normalised if the token is
  TokenId id = kNoToken;
  bool special = false;
  bool normalized = false;   ///< looked for in normalised text
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space behind it
  bool single_word = false;  ///< only where no word continues on either side
};

/// The added_tokens of tokenizer.json. Immutable; any thread may use it.
class AddedTokens {
 public:
  /// Ids are given as the reference implementation gives them: a content that the model knows keeps
  /// the model's id; otherwise the id must be free. InvalidArgument when ids collide or are huge.
  static Result<AddedTokens> from_json(const JsonFields& root, const Vocabulary& model,
                                       const Normalizer& normalizer);

  /// A part of a text: a token, or (kNoToken) text that remains.
  struct Part {
    TokenId token;
    size_t begin;
    size_t end;
  };
  /// Cuts the text at tokens: leftmost first, the longest of those that begin together.
  /// `normalized` chooses which tokens are looked for. With `skip_special` special tokens count as
  /// text.
  void cut(std::string_view text, bool normalized, bool skip_special, std::vector<Part>& out) const;

  /// Whether there are any tokens to be found in normalised (or in raw) text.
  [[nodiscard]] bool any(bool normalized) const { return !finders_[normalized ? 1 : 0].empty(); }

  /// Null when the id is not that of an added token.
  [[nodiscard]] const AddedToken* find(TokenId id) const;
  [[nodiscard]] TokenId find(std::string_view content) const;
  [[nodiscard]] bool is_special(std::string_view content) const;
  [[nodiscard]] const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  /// The contents as a tree of bytes, and what each may begin with.
  class Finder {
   public:
    void add(std::string_view content, uint32_t token);
    [[nodiscard]] bool empty() const { return nodes_.empty(); }
    struct Match {
      size_t begin;
      size_t end;
      uint32_t token;
    };
    /// The first match at or behind `from`; end 0 when there is none.
    [[nodiscard]] Match next(std::string_view text, size_t from) const;

   private:
    static constexpr uint32_t kNone = ~uint32_t{0};
    std::vector<uint32_t> nodes_;  ///< the token that ends at each node
    std::unordered_map<uint64_t, uint32_t> edges_;
    std::array<uint32_t, 256> roots_{};  ///< children of the root, 0: none
    int firsts_ = 0;                     ///< how many bytes a content may begin with
    char first_ = '\0';                  ///< the last of them
  };

  std::vector<AddedToken> tokens_;
  std::unordered_map<TokenId, uint32_t> by_id_;
  std::unordered_map<std::string, uint32_t> by_content_;
  std::array<Finder, 2> finders_;  ///< in raw text, in normalised text
};

}  // namespace sluice
