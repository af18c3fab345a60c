#include "apps/cli/commands.h"
#include "dataflow/base/config_text.h"
#include "dataflow/base/files.h"
#include "models/io/load_tokenizer.h"
#include "models/tokenizer/tokenizer.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace sluice {
namespace {

struct TokenizeOptions {
  std::string model;
  std::string text;
  std::string decode;
  bool ids_only = false;
  bool no_special = false;
  bool plain = false;
  bool skip_special = false;
};

void print(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

Status decode(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  const auto numbers = parse_int_list(options.decode);
  if (!numbers) return invalid_argument("--decode: '{}' is not a list of ids", options.decode);
  std::vector<TokenId> ids;
  for (const int64_t number : *numbers) {
    if (number < 0 || number >= static_cast<int64_t>(tokenizer.vocab_size())) {
      return error(Code::OutOfRange, "--decode: id {}; the vocabulary ends at {}", number,
                   tokenizer.vocab_size());
    }
    ids.push_back(static_cast<TokenId>(number));
  }
  print(tokenizer.decode(ids, {options.skip_special}));
  return {};
}

Status encode(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  ASSIGN_OR_RETURN(const auto ids,
                   tokenizer.encode(options.text, {!options.no_special, !options.plain}));
  if (options.ids_only) {
    print(fmt::format("{}", fmt::join(ids, ",")));
    return {};
  }
  for (const TokenId id : ids) {
    print(fmt::format("{:>7}  {}{}", id, quoted(tokenizer.token(id)),
                      tokenizer.is_special(id) ? "  special" : ""));
  }
  print(fmt::format("{} tokens, {} bytes", ids.size(), options.text.size()));
  return {};
}

/// At most what a tokenizer takes of one text.
Status read_standard_input(std::string& text) {
  constexpr size_t kMost = size_t{256} << 20;
  std::string block(1 << 16, '\0');
  while (size_t n = std::fread(block.data(), 1, block.size(), stdin)) {
    if (text.size() + n > kMost) {
      return invalid_argument("standard input has more than {} bytes", kMost);
    }
    text.append(block, 0, n);
  }
  if (std::ferror(stdin) != 0) return errno_status(errno, "cannot read standard input");
  return {};
}

enum class Input : uint8_t { Text, Ids, StandardInput };

Status tokenize(TokenizeOptions& options, Input input) {
  ASSIGN_OR_RETURN(const auto tokenizer, load_tokenizer(options.model));
  if (input == Input::Ids) return decode(*tokenizer, options);
  if (input == Input::StandardInput) {
    RETURN_IF_ERROR(read_standard_input(options.text));
  }
  return encode(*tokenizer, options);
}

}  // namespace

void add_tokenize_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("tokenize", "text to token ids and back");
  auto options = std::make_shared<TokenizeOptions>();
  command
      ->add_option("model", options->model,
                   "folder, .gguf file, name of a fetched model, or tokenizer.json")
      ->required();
  auto* text =
      command->add_option("text", options->text, "text; without it standard input is read");
  command->add_flag("--ids-only", options->ids_only, "print the ids alone, with commas between");
  auto* ids =
      command->add_option("--decode", options->decode, "print the text of these ids instead")
          ->option_text("1,2,3")
          ->excludes(text);
  command->add_flag("--no-special", options->no_special,
                    "leave out what the model puts around a text");
  command->add_flag("--plain", options->plain, "special tokens in the text are plain text");
  command->add_flag("--skip-special", options->skip_special,
                    "leave special tokens out of --decode");
  command->callback([options, text, ids, &exit_code] {
    // An empty text and an empty list are given, too.
    const Input input = ids->count() > 0    ? Input::Ids
                        : text->count() > 0 ? Input::Text
                                            : Input::StandardInput;
    const Status status = tokenize(*options, input);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
