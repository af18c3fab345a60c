#pragma once
#include "apps/cli/text_model.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace sluice {

/// A conversation with a model, line by line. One thread.
///
///   ChatSession session(model, sampling, write, interrupted);
///   while (std::getline(std::cin, line) && session.take(line)) {}
class ChatSession {
 public:
  /// `write` is given text as it comes; `interrupted` says whether the answer under way shall end.
  ChatSession(TextModel& model, SamplingParams sampling,
              std::function<void(const std::string&)> write, std::function<bool()> interrupted);

  /// A line of the user: something said, or /reset, /system TEXT, /help, /quit. False: it was
  /// /quit.
  bool take(const std::string& line);

  /// The conversation so far.
  [[nodiscard]] const nlohmann::ordered_json& messages() const noexcept { return messages_; }

 private:
  bool command(const std::string& line);
  void reset();
  Status answer();

  TextModel& model_;
  SamplingParams sampling_;
  std::function<void(const std::string&)> write_;
  std::function<bool()> interrupted_;
  std::string system_;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

}  // namespace sluice
