#pragma once
#include "inference/server/api_request.h"
#include "inference/server/reply.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// The error object of the OpenAI interface, for this HTTP status.
[[nodiscard]] std::string api_error(int http_status, const std::string& message);
/// 400, 404, 429, 500 or 503: what a failure means to a client.
[[nodiscard]] int http_status(const Status& status) noexcept;

/// Text of a JSON value; nothing in it can make this fail.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value);

/// The answer to one request, as one object or as server-sent events. Used by one thread.
class ApiResponse {
 public:
  /// `request` and `model` outlive it. `id` is unique, `created` in seconds since 1970.
  ApiResponse(const ApiRequest& request, const ServedModel& model, std::string id, int64_t created);

  /// Events that come before the first news.
  [[nodiscard]] std::string opening();
  /// Events that say what is new.
  [[nodiscard]] std::string events(const std::vector<Piece>& pieces);
  /// The last events.
  [[nodiscard]] std::string closing(const Usage& usage);

  /// Keeps what is new for whole().
  void add(std::vector<Piece> pieces);
  /// The first failure among what was added; OK when there was none.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  [[nodiscard]] std::string whole(const News& done) const;

 private:
  using Json = nlohmann::ordered_json;
  struct Choice {
    std::string text;
    std::vector<SampledToken> tokens;
    FinishReason finish = FinishReason::None;
    int64_t characters = 0;  ///< of the tokens' texts so far, for text_offset
  };

  [[nodiscard]] Json frame(bool chunk) const;
  [[nodiscard]] std::string event(Json choice) const;
  [[nodiscard]] size_t prompt_of(int64_t choice) const;
  [[nodiscard]] std::string token_text(int64_t token) const;
  [[nodiscard]] Json chat_logprobs(const std::vector<SampledToken>& tokens) const;
  [[nodiscard]] Json text_logprobs(const std::vector<SampledToken>& tokens,
                                   int64_t& characters) const;
  /// As text_logprobs, with the prompt's tokens first.
  [[nodiscard]] Json echoed_logprobs(const Choice& choice, size_t prompt,
                                     const std::vector<float>& scores) const;
  [[nodiscard]] Json usage_of(const Usage& usage) const;

  const ApiRequest& request_;
  const ServedModel& model_;
  std::string id_;
  int64_t created_;
  std::vector<Choice> choices_;
  Status failure_;
};

}  // namespace sluice
