#include "inference/sampler/output_stream.h"

#include "dataflow/base/random.h"
#include "inference/sampler/byte_tokenizer.h"
#include "models/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice {
namespace {

struct Sent {
  std::vector<std::string> chunks{};
  std::string text{};
  std::vector<int64_t> ids{};
  OutputStream::Update last{};
};

std::vector<int64_t> bytes(std::string_view text) {
  std::vector<int64_t> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

/// Feeds the ids until it ends; closes it when they run out.
Sent run(const Tokenizer& tokenizer, const SamplingParams& params, const std::vector<int64_t>& ids,
         std::vector<int64_t> eos = {}) {
  OutputStream stream(std::make_shared<StopRules>(params, eos), &tokenizer);
  Sent out;
  for (const int64_t id : ids) {
    out.last = stream.put(id);
    out.ids.push_back(id);
    out.chunks.push_back(out.last.text);
    out.text += out.last.text;
    if (stream.ended()) return out;
  }
  out.chunks.push_back(stream.close());
  out.text += out.chunks.back();
  out.last.finish = FinishReason::Abort;
  return out;
}

SamplingParams stops(std::vector<std::string> stop) {
  SamplingParams params;
  params.stop = std::move(stop);
  params.max_tokens = 1000;
  return params;
}

TEST(OutputStream, NothingOfAStopStringIsStreamed) {
  const auto tokenizer = byte_tokenizer({"DEF", "HI"});
  const std::vector<int64_t> ids = {'A', 'B', 'C', 256, 'G', 257, 'J', 'K'};
  const Sent got = run(*tokenizer, stops({"DEFGHIJ"}), ids);
  EXPECT_EQ(got.chunks, (std::vector<std::string>{"A", "B", "C", "", "", "", ""}));
  EXPECT_EQ(got.last.finish, FinishReason::Stop);
  EXPECT_EQ(got.last.stop_string, 0);
  EXPECT_EQ(got.ids.back(), 'J');  // the token that completed it is among the ids
  SamplingParams with = stops({"DEFGHIJ"});
  with.include_stop_string = true;
  EXPECT_EQ(run(*tokenizer, with, ids).text, "ABCDEFGHIJ");
}

TEST(OutputStream, WhatTurnsOutNotToBeAStopIsGivenLate) {
  const auto tokenizer = byte_tokenizer();
  const Sent got = run(*tokenizer, stops({"DEFGHIJ"}), bytes("ABCDEFGHxyz"));
  EXPECT_EQ(got.text, "ABCDEFGHxyz");
  EXPECT_EQ(got.chunks[7], "");
  EXPECT_EQ(got.chunks[8], "DEFGHx");
  EXPECT_EQ(run(*tokenizer, stops({"DEFGHIJ"}), bytes("ABCDEF")).text, "ABCDEF");  // cut short
}

TEST(OutputStream, TheEarliestEndWins) {
  const auto tokenizer = byte_tokenizer({"abcd", "xabcdy"});
  // "bc" ends before "abcd" does, although it begins later.
  Sent got = run(*tokenizer, stops({"abcd", "bc"}), {'x', 256});
  EXPECT_EQ(got.text, "xa");
  EXPECT_EQ(got.last.stop_string, 1);
  // Of those that end together the longest.
  got = run(*tokenizer, stops({"c", "abc"}), bytes("xxabc"));
  EXPECT_EQ(got.text, "xx");
  // Across tokens: "ab" + "ba" overlap.
  got = run(*tokenizer, stops({"aba", "bab"}), bytes("xbbaba"));
  EXPECT_EQ(got.text, "xb");
  EXPECT_EQ(got.last.stop_string, 1);
}

TEST(OutputStream, TextBehindTheStopInTheSameTokenIsDropped) {
  const auto tokenizer = byte_tokenizer({"one STOP two"});
  EXPECT_EQ(run(*tokenizer, stops({"STOP"}), {256}).text, "one ");
  EXPECT_EQ(run(*tokenizer, stops({" STOP", "zzz"}), {256, 'q'}).ids.size(), 1U);
}

TEST(OutputStream, CharactersStayWhole) {
  const auto tokenizer = byte_tokenizer();
  const std::string text = "a€😀é😀b";
  for (const auto& stop : std::vector<std::vector<std::string>>{{}, {"😁"}, {"€x", "é€"}}) {
    const Sent got = run(*tokenizer, stops(stop), bytes(text));
    EXPECT_EQ(got.text, text);
    for (const std::string& chunk : got.chunks) {
      EXPECT_TRUE(utf8::valid(chunk));
      EXPECT_EQ(chunk.find(utf8::kReplacement), std::string::npos);
    }
  }
  const Sent got = run(*tokenizer, stops({"é"}), bytes(text));
  EXPECT_EQ(got.text, "a€😀");
  EXPECT_EQ(got.ids.back(), 0xA9);  // the second byte of é
  // Ended inside a character: one replacement.
  EXPECT_EQ(run(*tokenizer, stops({}), bytes("x\xF0\x9F\x98")).text, "x\xEF\xBF\xBD");
}

TEST(OutputStream, StopIdsEndIt) {
  const auto tokenizer = byte_tokenizer({"word"});
  const int64_t end = 257;
  SamplingParams params = stops({});
  params.stop_token_ids = {256};
  Sent got = run(*tokenizer, params, {'a', 256, 'b'}, {'!', end});
  EXPECT_EQ(got.text, "a");
  EXPECT_EQ(got.last.stop_token, 256);
  EXPECT_EQ(got.last.finish, FinishReason::Stop);
  for (const int64_t eos : {int64_t{'!'}, end}) {
    got = run(*tokenizer, params, {'a', eos, 'b'}, {'!', end});
    EXPECT_EQ(got.text, "a");
    EXPECT_EQ(got.last.stop_token, eos);
  }
  params.include_stop_string = true;
  EXPECT_EQ(run(*tokenizer, params, {'a', 256}, {}).text, "aword");
}

TEST(OutputStream, IgnoreEosCoversTheWholeList) {
  const auto tokenizer = byte_tokenizer();
  SamplingParams params = stops({});
  params.ignore_eos = true;
  params.max_tokens = 6;
  const Sent got = run(*tokenizer, params, bytes("a!b?c!d"), {'!', '?'});
  EXPECT_EQ(got.text, "a!b?c!");
  EXPECT_EQ(got.last.finish, FinishReason::Length);
  params.stop_token_ids = {'?'};  // asked for by name
  EXPECT_EQ(run(*tokenizer, params, bytes("a!b?c!d"), {'!', '?'}).text, "a!b");
}

TEST(OutputStream, MinTokensComeBeforeAnyStop) {
  const auto tokenizer = byte_tokenizer();
  SamplingParams params = stops({"b"});
  params.min_tokens = 4;
  params.stop_token_ids = {'!'};
  EXPECT_EQ(run(*tokenizer, params, bytes("abbaab")).text, "abbaa");
  EXPECT_EQ(run(*tokenizer, params, bytes("abab")).text, "aba");  // token 4 may complete it
  const Sent got = run(*tokenizer, params, bytes("!!!!!!"));
  EXPECT_EQ(got.ids.size(), 5U);  // four others come first
}

TEST(OutputStream, MaxTokensGiveWhatWasHeldBack) {
  const auto tokenizer = byte_tokenizer();
  SamplingParams params = stops({"cde"});
  params.max_tokens = 4;
  const Sent got = run(*tokenizer, params, bytes("abcdef"));
  EXPECT_EQ(got.text, "abcd");
  EXPECT_EQ(got.last.finish, FinishReason::Length);
  params.max_tokens = 5;  // both at once: it did stop
  EXPECT_EQ(run(*tokenizer, params, bytes("abcdef")).last.finish, FinishReason::Stop);
}

/// What the whole text says, by search: where the earliest end of a stop is, and its longest stop.
std::string by_search(const std::string& text, const std::vector<std::string>& stop) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& s : stop) {
      if (s.size() <= end && text.compare(end - s.size(), s.size(), s) == 0) {
        longest = std::max(longest, s.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(OutputStream, RandomTextsAndStopsEqualASearchOfTheWhole) {
  const std::vector<std::string> pieces = {"ab", "ba", "aab", "bbb", "abab"};
  const auto tokenizer = byte_tokenizer(pieces);
  for (uint64_t round = 0; round < 2000; ++round) {
    const RandomKey key = RandomKey(3).split(round);
    std::vector<std::string> stop;
    for (uint64_t s = 0; s < 1 + key.word(0) % 3; ++s) {
      std::string made;
      for (uint64_t i = 0; i < 1 + key.word(1 + s) % 6; ++i) {
        made += static_cast<char>('a' + key.split(s).word(i) % 2);
      }
      stop.push_back(made);
    }
    std::vector<int64_t> ids;
    std::string text;
    for (uint64_t i = 0; i < 12; ++i) {
      const uint64_t pick = key.split("ids").word(i) % (pieces.size() + 2);
      ids.push_back(pick < pieces.size() ? 256 + static_cast<int64_t>(pick)
                                         : 'a' + static_cast<int64_t>(pick - pieces.size()));
      text += pick < pieces.size() ? pieces[pick] : std::string(1, static_cast<char>(ids.back()));
    }
    EXPECT_EQ(run(*tokenizer, stops(stop), ids).text, by_search(text, stop)) << text;
  }
}

TEST(OutputStream, WorksWithoutATokenizer) {
  SamplingParams params;
  params.max_tokens = 3;
  OutputStream stream(std::make_shared<StopRules>(params, std::vector<int64_t>{5}), nullptr);
  EXPECT_EQ(stream.put(4).finish, FinishReason::None);
  EXPECT_EQ(stream.put(5).finish, FinishReason::Stop);
  EXPECT_EQ(stream.close(), "");
}

}  // namespace
}  // namespace sluice
