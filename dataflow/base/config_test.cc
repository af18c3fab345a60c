#include "dataflow/base/config.h"

#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Shape : uint8_t { Round, Square };

struct Inner {
  double gamma = 0.99;
  int64_t epochs = 4;
  bool clip = true;
  std::vector<int64_t> hidden{64, 64};
  Shape shape = Shape::Round;

  void bind(ConfigBinder& b) {
    b.field("gamma", gamma, "discount per step", Range::between(0, 1));
    b.field("epochs", epochs, "passes over a batch\nbefore it is dropped", Range::at_least(1));
    b.field("clip", clip, "clip the value loss");
    b.field("hidden", hidden, "widths of the hidden layers", Range::at_least(1));
    b.field("shape", shape, "form", {{"round", Shape::Round}, {"square", Shape::Square}});
  }
};

struct Outer {
  std::string name = "run";
  std::string mode = "fast";
  Inner ppo;

  void bind(ConfigBinder& b) {
    b.section("ppo", ppo);
    b.field("name", name, "free text");
    b.field("mode", mode, "speed", {"fast", "exact"});
  }
};

class Config : public ::testing::Test {
 protected:
  Config() { config.bind(binder); }
  ~Config() override { std::remove(path.c_str()); }

  std::string message(std::string_view assignment) {
    return binder.set(assignment, "--set").message();
  }
  std::string load(std::string_view toml) {
    EXPECT_TRUE(write_file_atomic(path, toml).ok());
    std::string text = binder.load_toml(path).message();
    for (size_t at = text.find(path); at != std::string::npos; at = text.find(path)) {
      text.replace(at, path.size(), "run.toml");
    }
    return text;
  }

  std::string path = fmt::format("{}config_test_{}.toml", ::testing::TempDir(), ::getpid());
  Outer config;
  ConfigBinder binder;
};

TEST_F(Config, SetsEveryType) {
  EXPECT_EQ(message("ppo.gamma=0.5"), "");
  EXPECT_EQ(message(" ppo.epochs = 7 "), "");
  EXPECT_EQ(message("ppo.clip=false"), "");
  EXPECT_EQ(message("ppo.hidden=32,16"), "");
  EXPECT_EQ(message("ppo.shape=square"), "");
  EXPECT_EQ(message("name=a=b"), "");
  EXPECT_EQ(message("mode=exact"), "");
  EXPECT_EQ(config.ppo.gamma, 0.5);
  EXPECT_EQ(config.ppo.epochs, 7);
  EXPECT_FALSE(config.ppo.clip);
  EXPECT_THAT(config.ppo.hidden, ElementsAre(32, 16));
  EXPECT_EQ(config.ppo.shape, Shape::Square);
  EXPECT_EQ(config.name, "a=b");
  EXPECT_EQ(config.mode, "exact");
}

TEST_F(Config, RefusalsNameKeyOriginAndWhatIsAllowed) {
  EXPECT_EQ(message("ppo.gama=0.9"), "--set: unknown key 'ppo.gama', did you mean 'ppo.gamma'?");
  EXPECT_EQ(message("ppo.gamma=1.5"), "--set: ppo.gamma = 1.5 is out of range [0, 1]");
  EXPECT_EQ(message("ppo.epochs=four"), "--set: ppo.epochs = 'four' is not a whole number");
  EXPECT_EQ(message("ppo.epochs=0"), "--set: ppo.epochs = 0 is out of range [1, inf)");
  EXPECT_EQ(message("ppo.clip=maybe"), "--set: ppo.clip = 'maybe' is not true or false");
  EXPECT_EQ(message("ppo.hidden=64,x"),
            "--set: ppo.hidden = '64,x' is not a list of whole numbers like 64,64");
  EXPECT_EQ(message("ppo.hidden=64,0"), "--set: ppo.hidden[1] = 0 is out of range [1, inf)");
  EXPECT_EQ(message("ppo.shape=sqare"),
            "--set: ppo.shape = 'sqare' is not one of round, square, did you mean 'square'?");
  EXPECT_EQ(message("mode=slow"), "--set: mode = 'slow' is not one of fast, exact");
  EXPECT_EQ(message("ppo.gamma"), "--set: 'ppo.gamma' is not of the form key=value");
}

TEST_F(Config, ARefusedTextLeavesTheValue) {
  EXPECT_NE(message("ppo.gamma=2"), "");
  EXPECT_NE(message("ppo.hidden=1,-1"), "");
  EXPECT_NE(message("mode=slow"), "");
  EXPECT_EQ(config.ppo.gamma, 0.99);
  EXPECT_THAT(config.ppo.hidden, ElementsAre(64, 64));
  EXPECT_EQ(config.mode, "fast");
}

TEST_F(Config, WholeNumbersMayBeWrittenWithExponentOrUnderscores) {
  EXPECT_EQ(message("ppo.epochs=1e6"), "");
  EXPECT_EQ(config.ppo.epochs, 1'000'000);
  EXPECT_EQ(message("ppo.epochs=2_000_000"), "");
  EXPECT_EQ(config.ppo.epochs, 2'000'000);
  EXPECT_EQ(message("ppo.epochs=9223372036854775807"), "");
  EXPECT_EQ(config.ppo.epochs, std::numeric_limits<int64_t>::max());
  for (const char* bad : {"1.5", "1e-1", "1e30", "9223372036854775808", "1__0", "_1", "1_", "+-1",
                          "", "0x10", "nan", "inf", "1 2"}) {
    EXPECT_THAT(message(fmt::format("ppo.epochs={}", bad)), HasSubstr("is not a whole number"))
        << bad;
  }
}

TEST_F(Config, NanIsRefusedOnEveryWayIn) {
  EXPECT_EQ(message("ppo.gamma=nan"), "--set: ppo.gamma = 'nan' is not a number");
  EXPECT_EQ(load("[ppo]\ngamma = nan\n"), "run.toml:2: ppo.gamma = 'nan' is not a number");
  config.ppo.gamma = std::nan("");
  EXPECT_EQ(binder.check().message(), "ppo.gamma = 'nan' is not a number");
}

TEST_F(Config, CheckTellsAllProblems) {
  EXPECT_TRUE(binder.check().ok());
  config.ppo.gamma = -1;
  config.ppo.epochs = 0;
  config.mode = "slow";
  const Status status = binder.check();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_EQ(status.message(),
            "ppo.gamma = -1 is out of range [0, 1]\n"
            "ppo.epochs = 0 is out of range [1, inf)\n"
            "mode = 'slow' is not one of fast, exact");
}

TEST_F(Config, LoadsToml) {
  EXPECT_EQ(load("name = \"x \\\"y\\\"\"  # comment\n[ppo]\ngamma = 1\nhidden = [8, 16]\n"
                 "clip = false\nshape = 'square'\nepochs = 1_000\n"),
            "");
  EXPECT_EQ(config.name, "x \"y\"");
  EXPECT_EQ(config.ppo.gamma, 1.0);
  EXPECT_THAT(config.ppo.hidden, ElementsAre(8, 16));
  EXPECT_FALSE(config.ppo.clip);
  EXPECT_EQ(config.ppo.shape, Shape::Square);
  EXPECT_EQ(config.ppo.epochs, 1000);
}

TEST_F(Config, LoadTomlTellsAllProblemsWithTheirLines) {
  EXPECT_EQ(load("nam = 'x'\n"
                 "mode = [1]\n"
                 "[ppo]\n"
                 "gamma = 1.5\n"
                 "epochs = 'four'\n"
                 "hidden = 64\n"
                 "clip = 1979-05-27\n"
                 "[ppo.shape]\n"
                 "[other]\n"
                 "key = 1\n"),
            "run.toml:1: unknown key 'nam', did you mean 'name'?\n"
            "run.toml:2: mode = [1] is not one of fast, exact\n"
            "run.toml:4: ppo.gamma = 1.5 is out of range [0, 1]\n"
            "run.toml:5: ppo.epochs = 'four' is not a whole number\n"
            "run.toml:6: ppo.hidden = 64 is not a list of whole numbers in [1, inf)\n"
            "run.toml:7: ppo.clip = '1979-05-27' is not true or false\n"
            "run.toml:8: ppo.shape is a section, expected one of round, square\n"
            "run.toml:10: unknown key 'other.key'");
}

TEST_F(Config, AValueForASectionIsRefused) {
  EXPECT_EQ(load("ppo = 3\n"), "run.toml:1: 'ppo' is a section, write [ppo] and its keys below");
}

TEST_F(Config, BrokenTomlNamesTheLine) {
  EXPECT_THAT(load("name = 'x'\nmode = \n"), HasSubstr("run.toml:2: not valid TOML: "));
  EXPECT_THAT(load("name = 'x'\nname = 'y'\n"), HasSubstr("not valid TOML: "));
  EXPECT_EQ(load("name = 'x'\nmode = \n").find('\n'), std::string::npos);
}

TEST_F(Config, NestingThatWouldOverflowTheParserIsRefused) {
  for (const std::string& text :
       {"x = " + std::string(100'000, '['), "x = " + std::string(100'000, '{'), [] {
          std::string key = "a";
          for (int i = 0; i < 100'000; ++i) key += ".a";
          return key + " = 1";
        }()}) {
    EXPECT_THAT(load(text + "\n"), HasSubstr("nested too deeply"));
  }
}

TEST_F(Config, BracketsInTextsAndCommentsAreNoNesting) {
  const std::string many(1000, '[');
  EXPECT_EQ(load("# " + many + "\nname = \"" + many + "\"\n"), "");
  EXPECT_EQ(load("name = '" + many + "'\n"), "");
  EXPECT_EQ(load("name = \"\"\"\n\"" + many + "\\\"\"\"\"\n"), "");
}

TEST_F(Config, AWholeNumberOfMoreThan64BitsIsRefused) {
  EXPECT_THAT(load("[ppo]\nepochs = 99999999999999999999\n"),
              HasSubstr("run.toml:2: ppo.epochs is too large"));
}

TEST_F(Config, MissingFileIsNotFound) {
  EXPECT_EQ(binder.load_toml(path + ".none").code(), Code::NotFound);
}

TEST_F(Config, TomlRoundTripIsExact) {
  config.name = "tab\t \"quoted\" back\\slash \x7f\x01 umlaut \xc3\xa4\nline";
  config.ppo.hidden = {};
  config.ppo.epochs = std::numeric_limits<int64_t>::max();
  config.ppo.shape = Shape::Square;
  config.ppo.clip = false;
  for (const double gamma : {0.1, 1.0 / 3.0, 1.0, 0.0, 1e-5, 2.2250738585072014e-308, 5e-324,
                             std::nextafter(1.0, 0.0)}) {
    config.ppo.gamma = gamma;
    const std::string text = binder.to_toml();
    Outer other;
    ConfigBinder reader;
    other.bind(reader);
    ASSERT_TRUE(write_file_atomic(path, text).ok());
    const Status status = reader.load_toml(path);
    ASSERT_TRUE(status.ok()) << status.message() << "\n" << text;
    EXPECT_EQ(other.ppo.gamma, gamma);
    EXPECT_EQ(other.name, config.name);
    EXPECT_EQ(other.ppo.hidden, config.ppo.hidden);
    EXPECT_EQ(other.ppo.epochs, config.ppo.epochs);
    EXPECT_EQ(other.ppo.shape, Shape::Square);
    EXPECT_FALSE(other.ppo.clip);
    EXPECT_EQ(reader.to_toml(), text);
  }
}

struct Wide {
  double x = 0;
  void bind(ConfigBinder& b) { b.field("x", x, "anything"); }
};

TEST(ConfigDoubles, LargeNegativeAndInfiniteRoundTrip) {
  const std::string path = fmt::format("{}config_wide_{}.toml", ::testing::TempDir(), ::getpid());
  for (const double x :
       {-0.0, 1e300, -1.7976931348623157e308, 123456789012345680.0,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    Wide out{x};
    ConfigBinder writer;
    out.bind(writer);
    ASSERT_TRUE(write_file_atomic(path, writer.to_toml()).ok());
    Wide in{7};
    ConfigBinder reader;
    in.bind(reader);
    ASSERT_TRUE(reader.load_toml(path).ok()) << writer.to_toml();
    EXPECT_EQ(in.x, x);
    EXPECT_EQ(std::signbit(in.x), std::signbit(x));
  }
  std::remove(path.c_str());
}

TEST_F(Config, TomlStandsInSectionsUnderItsDocumentation) {
  EXPECT_EQ(binder.to_toml(),
            "# free text\n"
            "name = \"run\"  # a text\n"
            "# speed\n"
            "mode = \"fast\"  # one of fast, exact\n"
            "\n"
            "[ppo]\n"
            "# discount per step\n"
            "gamma = 0.99  # a number in [0, 1]\n"
            "# passes over a batch\n"
            "# before it is dropped\n"
            "epochs = 4  # a whole number in [1, inf)\n"
            "# clip the value loss\n"
            "clip = true  # true or false\n"
            "# widths of the hidden layers\n"
            "hidden = [64, 64]  # a list of whole numbers in [1, inf)\n"
            "# form\n"
            "shape = \"round\"  # one of round, square\n");
}

TEST_F(Config, HelpHasALinePerKey) {
  const std::string help = binder.help();
  EXPECT_EQ(std::count(help.begin(), help.end(), '\n'), static_cast<int64_t>(binder.keys().size()));
  EXPECT_THAT(help, HasSubstr("discount per step (a number in [0, 1])"));
  EXPECT_THAT(help, HasSubstr("ppo.shape = \"round\""));
}

TEST_F(Config, KnowsItsKeys) {
  EXPECT_TRUE(binder.knows("ppo.gamma"));
  EXPECT_FALSE(binder.knows("gamma"));
  EXPECT_THAT(binder.keys(), ElementsAre("ppo.gamma", "ppo.epochs", "ppo.clip", "ppo.hidden",
                                         "ppo.shape", "name", "mode"));
}

TEST_F(Config, BindingAKeyTwiceFailsACheck) {
  EXPECT_THROW(binder.field("name", config.name, "again"), CheckFailure);
}

}  // namespace
}  // namespace sluice
