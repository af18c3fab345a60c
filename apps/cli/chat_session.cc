#include "apps/cli/chat_session.h"

namespace sluice {
namespace {

constexpr const char* kHelp =
    "/reset        forget the conversation\n"
    "/system TEXT  begin anew with these instructions (none: without)\n"
    "/quit         leave (as Ctrl-D); Ctrl-C ends an answer\n";

}  // namespace

ChatSession::ChatSession(TextModel& model, SamplingParams sampling,
                         std::function<void(const std::string&)> write,
                         std::function<bool()> interrupted)
    : model_(model),
      sampling_(std::move(sampling)),
      write_(std::move(write)),
      interrupted_(std::move(interrupted)) {}

void ChatSession::reset() {
  messages_ = nlohmann::ordered_json::array();
  if (!system_.empty()) messages_.push_back({{"role", "system"}, {"content", system_}});
}

bool ChatSession::command(const std::string& line) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  if (name == "/quit") return false;
  if (name == "/reset") {
    reset();
  } else if (name == "/system") {
    system_ = space == std::string::npos ? "" : line.substr(space + 1);
    reset();
  } else {
    write_(name == "/help" ? kHelp : fmt::format("no command {}\n{}", name, kHelp));
  }
  return true;
}

bool ChatSession::take(const std::string& line) {
  if (line.empty()) return true;
  if (line[0] == '/') return command(line);
  messages_.push_back({{"role", "user"}, {"content", line}});
  if (const Status status = answer(); !status.ok()) {
    messages_.erase(messages_.size() - 1);  // as if it had not been said
    write_("error: " + status.message() + "\n");
  }
  return true;
}

Status ChatSession::answer() {
  GenRequest request;
  ASSIGN_OR_RETURN(request.prompt, model_.encode({{"messages", messages_}}));
  request.sampling = sampling_;
  Completion done;
  GenListener listener;
  listener.on_token = [this](const TokenEvent& event) { write_(event.text); };
  listener.on_done = [&](Completion completion) { done = std::move(completion); };
  Engine& engine = *model_.engine;
  ASSIGN_OR_RETURN(const RequestId id, engine.submit(std::move(request), std::move(listener)));
  while (engine.busy()) {
    if (interrupted_()) {
      RETURN_IF_ERROR(engine.abort(id));
      break;
    }
    if (const Status status = engine.step(); !status.ok()) {
      static_cast<void>(engine.abort(id));
      return status;
    }
  }
  write_("\n");
  const Sample& sample = done.samples.front();
  RETURN_IF_ERROR(sample.error);
  messages_.push_back({{"role", "assistant"}, {"content", sample.text}});
  return {};
}

}  // namespace sluice
