// The commands of README's "Language models" on a tiny model, and what they refuse.
#include "tests/support/child.h"
#include "tests/support/run_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace sluice::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr const char* kGguf = SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama.gguf";
constexpr const char* kFolder = SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama";

class ModelsCli : public ::testing::Test {
 protected:
  Ended run(std::vector<std::string> arguments) {
    return sluice(std::move(arguments), 60, {{"SLUICE_CACHE", dir_ / "cache"}});
  }
  /// Its one line on standard error.
  std::string refusal(std::vector<std::string> arguments) {
    const Ended end = run(std::move(arguments));
    EXPECT_EQ(end.code, 1) << end.out << end.err;
    EXPECT_THAT(end.out, IsEmpty());
    EXPECT_THAT(end.err, MatchesRegex("error: [^\n]+\n"));
    return end.err;
  }
  /// `sluice ARGUMENTS` as a line of the shell, which may close its streams.
  Ended shell(const std::string& arguments) {
    Child child({"sh", "-c", "'" + sluice_binary() + "' " + arguments});
    return child.wait(60);
  }

  TempDir dir_;
};

TEST_F(ModelsCli, CommandsOfTheReadmeWork) {
  EXPECT_THAT(refusal({"inspect", "smollm2"}), HasSubstr("run `sluice fetch smollm2`"));
  Ended end = run({"fetch", "smollm2", "--from", kGguf});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, dir_ / "cache" + std::string("/models/smollm2\n"));
  end = run({"inspect", "smollm2"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, AllOf(HasSubstr("LlamaForCausalLM"), HasSubstr("safetensors"),
                             HasSubstr("BPE, 277 tokens"), HasSubstr("model.norm.weight")));
  end = run({"tokenize", "smollm2", "Hello  world", "--ids-only"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, MatchesRegex("[0-9,]+\n"));
  const std::string ids = end.out.substr(0, end.out.size() - 1);
  EXPECT_EQ(run({"tokenize", "smollm2", "--decode", ids}).out, "Hello  world\n");
  end = run({"generate", "smollm2", "The capital", "--max-tokens", "3", "--ids"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, MatchesRegex("[0-9]+,[0-9]+,[0-9]+\n"));
  end = run({"convert", "smollm2", dir_ / "q8.gguf", "--dtype", "q8_0"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(run({"convert", dir_ / "q8.gguf", dir_ / "back", "--dtype", "f32"}).code, 0);
  EXPECT_EQ(run({"generate", dir_ / "back", "x", "--max-tokens", "1"}).code, 0);
}

TEST_F(ModelsCli, ATargetThatExistsIsNotTouched) {
  write_text(dir_ / "mine.gguf", "mine");
  EXPECT_THAT(refusal({"convert", kFolder, dir_ / "mine.gguf"}), HasSubstr("exists"));
  EXPECT_EQ(read_text(dir_ / "mine.gguf"), "mine");
  fs::create_directory(dir_ / "folder");
  write_text(dir_ / "folder/mine", "mine");
  EXPECT_THAT(refusal({"convert", kFolder, dir_ / "folder"}), HasSubstr("exists"));
  EXPECT_EQ(read_text(dir_ / "folder/mine"), "mine");
}

TEST_F(ModelsCli, FetchClearsWhatAKilledOneLeftAndTakesNoneOfIt) {
  const std::string models = dir_ / "cache/models";
  fs::create_directories(models + "/smollm2.tmp-1-0");
  write_text(models + "/smollm2.tmp-1-0/config.json", "{}");
  fs::create_directories(models + "/smollm2.fetch-1");
  write_text(models + "/smollm2.fetch-1/half.whl", "x");
  EXPECT_THAT(refusal({"inspect", "smollm2"}), HasSubstr("is not here yet"));
  EXPECT_EQ(run({"fetch", "smollm2", "--from", kGguf}).code, 0);
  EXPECT_FALSE(fs::exists(models + "/smollm2.tmp-1-0"));
  EXPECT_FALSE(fs::exists(models + "/smollm2.fetch-1"));
}

TEST_F(ModelsCli, TwoFetchesAtOnceBothSucceed) {
  const std::vector<std::string> command = {sluice_binary(), "fetch", "smollm2", "--from", kGguf};
  Child a(command, {{"SLUICE_CACHE", dir_ / "cache"}});
  Child b(command, {{"SLUICE_CACHE", dir_ / "cache"}});
  for (Child* child : {&a, &b}) {
    const Ended end = child->wait(60);
    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_THAT(end.out, HasSubstr("/models/smollm2"));
  }
  EXPECT_EQ(run({"generate", "smollm2", "x", "--max-tokens", "1"}).code, 0);
}

TEST_F(ModelsCli, FilesThatLieAreOneLine) {
  const auto copy = [&](const std::string& name) {
    const std::string to = dir_ / name;
    fs::copy(kFolder, to, fs::copy_options::recursive);
    return to;
  };
  const std::string huge = copy("huge");
  std::string config = read_text(huge + "/config.json");
  config.replace(config.find("\"vocab_size\": 277"), 17, "\"vocab_size\": 200000000");
  write_text(huge + "/config.json", config);
  EXPECT_THAT(refusal({"generate", huge, "x"}), HasSubstr("the config implies [200000000, 32]"));
  const std::string pipe = copy("pipe");
  fs::remove(pipe + "/model.safetensors");
  ASSERT_EQ(::mkfifo((pipe + "/model.safetensors").c_str(), 0600), 0);
  EXPECT_THAT(refusal({"inspect", pipe}), HasSubstr("not a regular file"));
  const std::string empty = copy("empty");
  write_text(empty + "/tokenizer.json", "");
  EXPECT_THAT(refusal({"tokenize", empty, "x"}), HasSubstr("tokenizer.json"));
  std::string deep = "{\"messages\":" + std::string(1'000'000, '[');
  deep += std::string(1'000'000, ']') + "}";
  write_text(dir_ / "deep.json", deep);
  EXPECT_THAT(refusal({"chat-template", kFolder, dir_ / "deep.json"}), HasSubstr("nested deeper"));
  write_text(dir_ / "twice.json", R"([{"role": "user", "role": "user", "content": "x"}])");
  EXPECT_THAT(refusal({"chat-template", kFolder, dir_ / "twice.json"}),
              HasSubstr("duplicate key 'role'"));
}

TEST_F(ModelsCli, ATemplateThatFailsNamesItsModelAndLine) {
  const std::string model = dir_ / "model";
  fs::copy(kFolder, model, fs::copy_options::recursive);
  write_text(model + "/chat_template.jinja", "a\n{{ foo(1) }}");
  write_text(dir_ / "m.json", R"([{"role": "user", "content": "x"}])");
  EXPECT_THAT(refusal({"chat-template", model, dir_ / "m.json"}),
              HasSubstr(model + ": chat template line 2: 'foo'"));
  write_text(dir_ / "m.json", "5");
  EXPECT_THAT(refusal({"chat-template", model, dir_ / "m.json"}), HasSubstr("m.json: neither"));
}

TEST_F(ModelsCli, WeightsOfWholeNumbersAreNoWeights) {
  const std::string model = dir_ / "whole";
  fs::copy(kFolder, model, fs::copy_options::recursive);
  std::string weights = read_text(model + "/model.safetensors");
  weights.replace(weights.find("\"BF16\""), 6, "\"I16\" ");
  write_text(model + "/model.safetensors", weights);
  EXPECT_THAT(refusal({"generate", model, "x"}), HasSubstr("is I16 in the checkpoint"));
  EXPECT_THAT(refusal({"convert", model, dir_ / "whole.gguf"}), HasSubstr("is I16, not floating"));
}

TEST_F(ModelsCli, ADeviceThatIsNotThereIsOneLine) {
  EXPECT_THAT(refusal({"generate", kFolder, "x", "--device", "gpu"}), HasSubstr("cpu, cuda or"));
  const Ended end = sluice({"serve", kFolder, "--device", "cuda:1"}, 60,
                           {{"SLUICE_INFERENCE_CUDA_LIBRARY", "/nonexistent/lib.so"}});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, MatchesRegex("error: no CUDA [^\n]+/nonexistent/lib.so[^\n]+\n"));
}

TEST_F(ModelsCli, AMillionTokensAreRefusedByTheModelAndTakenByTheTokenizer) {
  std::string text;
  for (int i = 0; i < 250'000; ++i) text += "é1 ";
  write_text(dir_ / "text", text);
  const Ended end = shell(std::string("tokenize '") + kFolder + "' --ids-only < '" +
                          (dir_ / "text") + "' | tr , '\\n' | wc -l");
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_GT(std::stoll(end.out), 500'000);
  // 129 tokens do not fit into 128 positions, and neither do more.
  EXPECT_THAT(refusal({"generate", kFolder, text.substr(0, 100'000), "--ids"}),
              HasSubstr("the model takes 128"));
}

TEST_F(ModelsCli, ClosedAndFullStreamsDoNoHarm) {
  const std::string out = dir_ / "out";
  const Ended closed = shell(std::string("convert '") + kFolder + "' '" + out + "' <&- >&- 2>&-");
  EXPECT_EQ(closed.code, 0);
  EXPECT_EQ(run({"generate", out, "x", "--max-tokens", "1"}).code, 0);
  // The failure is printed to a closed stream while a file is open.
  EXPECT_EQ(shell(std::string("convert '") + kFolder + "' '" + out + "' >&- 2>&-").code, 1);
  const Ended full = shell(std::string("inspect '") + kFolder + "' > /dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.err, HasSubstr("cannot write to standard output"));
}

TEST_F(ModelsCli, EveryCharacterComesBackNulToo) {
  write_text(dir_ / "text", std::string("a\0b", 3));
  const Ended ids =
      shell(std::string("tokenize '") + kFolder + "' --ids-only < '" + (dir_ / "text") + "'");
  ASSERT_EQ(ids.code, 0) << ids.err;
  const Ended text = run({"tokenize", kFolder, "--decode", ids.out.substr(0, ids.out.size() - 1)});
  EXPECT_EQ(text.out, std::string("a\0b\n", 4));
}

TEST_F(ModelsCli, NothingIsReadInsteadOfAnEmptyListAndFoldersAreNoText) {
  const Ended none = shell(std::string("tokenize '") + kFolder + "' --decode '' < /");
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_EQ(none.out, "\n");
  const Ended folder = shell(std::string("tokenize '") + kFolder + "' < /");
  EXPECT_EQ(folder.code, 1);
  EXPECT_THAT(folder.err, HasSubstr("cannot read standard input"));
}

TEST_F(ModelsCli, NamesInAFileDoNotReachTheTerminalAsCommands) {
  const std::string model = dir_ / "model";
  fs::copy(kFolder, model, fs::copy_options::recursive);
  std::string header = R"({"a\u001b[2Jb":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  const uint64_t length = header.size();
  header.insert(0, reinterpret_cast<const char*>(&length), sizeof(length));
  write_text(model + "/model.safetensors", header + std::string(4, '\0'));
  const Ended end = run({"inspect", model});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("a?[2Jb"));
}

TEST_F(ModelsCli, TextThatIsNotUtf8IsReplacedOrQuoted) {
  EXPECT_EQ(run({"tokenize", kFolder, "a\xff", "--ids-only"}).out,
            run({"tokenize", kFolder, "a\xef\xbf\xbd", "--ids-only"}).out);
  EXPECT_THAT(refusal({"inspect", "\xff"}), HasSubstr("no model"));
}

}  // namespace
}  // namespace sluice::testing
