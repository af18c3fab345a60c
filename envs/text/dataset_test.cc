#include "envs/text/dataset.h"

#include "envs/text/dataset_task.h"
#include "envs/text/registry.h"
#include "envs/text/table_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

DatasetOptions options(std::string path, std::string content) {
  DatasetOptions out;
  out.path = std::move(path);
  out.content = std::move(content);
  return out;
}

std::string why(const DatasetOptions& o) { return read_dataset(o).status().message(); }

TEST(ReadDataset, MapsColumnsOfJsonLines) {
  auto o = options("a.jsonl",
                   "\xEF\xBB\xBF{\"question\": \"1+1?\", \"result\": 2, \"level\": \"easy\"}\r\n"
                   "\n{\"question\": \"2+2?\", \"result\": \"4\", \"tags\": [1, \"x\"]}");
  o.prompt = "question";
  o.answer = "result";
  o.system = "Be brief.";
  o.suffix = " Think.";
  const auto data = read_dataset(o);
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ(data->problems.size(), 2U);
  EXPECT_EQ(data->problems[0].messages,
            (std::vector<ChatTurn>{{"system", "Be brief."}, {"user", "1+1? Think."}}));
  EXPECT_EQ(data->problems[0].answer, "2");
  EXPECT_THAT(data->problems[0].fields, ElementsAre(Pair("level", "easy")));
  EXPECT_THAT(data->problems[1].fields, ElementsAre(Pair("tags", "[1,\"x\"]")));
  EXPECT_EQ(data->problems[1].id, 1);
  EXPECT_EQ(data->report.to_string(), "2 of 2 rows used");
}

TEST(ReadDataset, ReadsCsvWithQuotesAndLineEndsInCells) {
  auto o =
      options("a.csv",
              "prompt,answer,note\r\n\"a \"\"b\"\", c\",1,\r\n\"two\nlines\",2,x\n\nlast,3,\"\"\n");
  const auto data = read_dataset(o);
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ(data->problems.size(), 3U);
  EXPECT_EQ(data->problems[0].messages[0].content, "a \"b\", c");
  EXPECT_EQ(data->problems[1].messages[0].content, "two\nlines");
  EXPECT_EQ(data->problems[2].answer, "3");
  EXPECT_EQ(data->problems[1].fields.at("note"), "x");
}

TEST(ReadDataset, TakesConversations) {
  const auto data = read_dataset(options(
      "a.jsonl",
      R"({"prompt": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}], "answer": "1"})"));
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->problems[0].messages, (std::vector<ChatTurn>{{"system", "S"}, {"user", "U"}}));
}

// One bad row of each kind, all in line 2.
const std::pair<const char*, std::string> kBadRows[] = {
    {"bad JSON", "{\"prompt\": \"x\", "},
    {"bad JSON", "[1]"},
    {"missing column", "{\"promt\": \"x\", \"answer\": \"1\", \"id\": 2}"},
    {"missing column", "{\"prompt\": \"x\", \"answer\": null, \"id\": 2}"},
    {"wrong type", "{\"prompt\": 5, \"answer\": \"1\", \"id\": 2}"},
    {"wrong type", "{\"prompt\": [{\"role\": \"user\"}], \"answer\": \"1\", \"id\": 2}"},
    {"empty prompt", "{\"prompt\": \" \", \"answer\": \"1\", \"id\": 2}"},
    {"bad UTF-8", "{\"prompt\": \"\xC3(\", \"answer\": \"1\", \"id\": 2}"},
    {"duplicate id", "{\"prompt\": \"x\", \"answer\": \"1\", \"id\": 1}"},
};

TEST(ReadDataset, ABadRowIsAnErrorWithFileAndLineOrIsSkippedAndCounted) {
  for (const auto& [reason, bad] : kBadRows) {
    auto o = options("d/a.jsonl", "{\"prompt\": \"p\", \"answer\": \"1\", \"id\": 1}\n" + bad +
                                      "\n{\"prompt\": \"q\", \"answer\": \"1\", \"id\": 3}\n");
    o.id = "id";
    EXPECT_THAT(why(o), testing::StartsWith("d/a.jsonl:2: ")) << bad;
    o.on_bad_row = OnBadRow::Skip;
    const auto data = read_dataset(o);
    ASSERT_TRUE(data.ok()) << bad;
    EXPECT_EQ(data->report.rows, 3);
    EXPECT_EQ(data->report.used, 2);
    EXPECT_THAT(data->report.dropped, ElementsAre(Pair(reason, 1))) << bad;
    ASSERT_EQ(data->report.examples.size(), 1U);
    EXPECT_THAT(data->report.examples[0], testing::StartsWith("d/a.jsonl:2: "));
    EXPECT_EQ(data->problems[1].fields.at("id"), "3");
  }
}

TEST(ReadDataset, SaysWhichColumnIsNear) {
  EXPECT_THAT(why(options("a.jsonl", "{\"promt\": \"x\", \"answer\": \"1\"}")),
              HasSubstr("a.jsonl:1: no column 'prompt', did you mean 'promt'?"));
  auto o = options("a.csv", "promt,answer\nx,1\n");
  o.on_bad_row = OnBadRow::Skip;
  EXPECT_THAT(why(o), HasSubstr("a.csv:1: no column 'prompt', did you mean 'promt'?"));
}

TEST(ReadDataset, BadCsvNamesTheLineTheRowBeginsIn) {
  EXPECT_THAT(why(options("a.csv", "prompt,answer\n\"a\nb\",1\nc\n")),
              HasSubstr("a.csv:4: 1 cells where the header has 2"));
  EXPECT_THAT(why(options("a.csv", "prompt,answer\n\"a,1\n")),
              HasSubstr("a.csv:2: a quoted cell never"));
  EXPECT_THAT(why(options("a.csv", "prompt,answer\na\"b,1\n")),
              HasSubstr("a.csv:2: a quote in the middle"));
  EXPECT_THAT(why(options("a.csv", "prompt,answer\n\xFF,1\n")),
              HasSubstr("a.csv:2: column 'prompt' is not"));
  EXPECT_THAT(why(options("a.csv", "prompt,prompt\n")), HasSubstr("'prompt' twice"));
  EXPECT_THAT(why(options("a.csv", "")), HasSubstr("no header"));
}

TEST(ReadDataset, FiltersAreCountedAndNoErrors) {
  auto o = options(
      "a.csv", "prompt,answer,level\nabc,1,easy\nab,1,hard\na,1,easy\nabcdef,1,easy\nxyz,2,easy\n");
  o.where = {"level=easy", "answer!=2"};
  o.min_chars = 2;
  o.max_chars = 5;
  const auto data = read_dataset(o);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->report.to_string(),
            "1 of 5 rows used; dropped: filter 2, too long 1, too short 1");
  o.where = {"level"};
  EXPECT_THAT(why(o), HasSubstr("neither COLUMN=VALUE"));
  o.where = {"lvel=easy"};
  EXPECT_THAT(why(o), HasSubstr("no column 'lvel', did you mean 'level'?"));
  o.where = {"level=none"};
  EXPECT_THAT(why(o), HasSubstr("no row can be used: 0 of 5 rows used; dropped: filter 5"));
  o = options("a.csv", "prompt,answer\na,1\nb,2\nc,3\n");
  o.limit = 2;
  EXPECT_EQ(read_dataset(o)->problems.size(), 2U);
}

TEST(IsUtf8, FollowsTheStandard) {
  for (const std::string_view good : {"", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const std::string_view bad :
       {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5", "\xC3",
        "\xE2\x82", "\xF0\x9F\x98"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(DatasetTask, HoldsRowsOutBySeedAndScoresByItsRewards) {
  TextTaskOptions o;
  std::string csv = "prompt,answer\n";
  for (int i = 0; i < 20; ++i) csv += fmt::format("p{},{}\n", i, i);
  o.dataset = options("a.csv", csv);
  o.eval_rows = 5;
  o.rewards = {"number", "0.5*format:<answer>"};
  const auto task = make_text_task("dataset", o);
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_EQ((*task)->size(Split::Train), 15);
  std::set<std::string> all;
  for (const Split split : {Split::Train, Split::Eval}) {
    for (int64_t i = 0; i < (*task)->size(split); ++i) {
      all.insert((*task)->problem(split, i)->messages[0].content);
    }
  }
  EXPECT_EQ(all.size(), 20U);
  const auto problem = *(*task)->problem(Split::Train, 0);
  EXPECT_EQ((*task)->score(problem, "<answer>" + problem.answer + "</answer>").reward, 1.5);
  o.eval_rows = 20;
  EXPECT_THAT(make_text_task("dataset", o).status().message(), HasSubstr("20 of 20 rows"));
  o.eval_rows = 0;
  EXPECT_EQ((*make_text_task("dataset", o))->problem(Split::Train, 3)->answer, "3");
  o.rewards = {"maths"};
  EXPECT_THAT(make_text_task("dataset", o).status().message(),
              HasSubstr("task 'dataset': reward 'maths'"));
}

}  // namespace
}  // namespace sluice
