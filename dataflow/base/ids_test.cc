#include "dataflow/base/ids.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

VersionTag tag(uint32_t incarnation, int64_t step) { return {7, incarnation, step, 0}; }

TEST(VersionTag, PrintsStepIncarnationAndDigest) {
  EXPECT_EQ((VersionTag{7, 1, 12, 0x0123abcd99999999ULL}).to_string(), "v12.1-0123abcd");
  EXPECT_EQ(VersionTag{}.to_string(), "none");
  EXPECT_FALSE(VersionTag{}.valid());
  EXPECT_TRUE(tag(0, 0).valid());
}

TEST(VersionTag, NewerLooksAtTheIncarnationFirst) {
  EXPECT_TRUE(newer(tag(0, 2), tag(0, 1)));
  EXPECT_FALSE(newer(tag(0, 1), tag(0, 1)));
  EXPECT_TRUE(newer(tag(1, 0), tag(0, 100)));
  EXPECT_FALSE(newer(tag(0, 100), tag(1, 0)));
}

TEST(VersionSpan, CoversWhateverIsShown) {
  VersionSpan span;
  span.cover(tag(0, 5));
  EXPECT_EQ(span.oldest, tag(0, 5));
  EXPECT_EQ(span.newest, tag(0, 5));
  span.cover(tag(0, 3));
  span.cover(tag(1, 0));
  span.cover(tag(0, 4));
  EXPECT_EQ(span.oldest, tag(0, 3));
  EXPECT_EQ(span.newest, tag(1, 0));
}

TEST(Staleness, CountsFromTheOldestVersion) {
  VersionSpan span;
  EXPECT_EQ(staleness(tag(0, 9), span), 0);
  span.cover(tag(0, 4));
  span.cover(tag(0, 8));
  EXPECT_EQ(staleness(tag(0, 9), span), 5);
  EXPECT_EQ(staleness(VersionTag{}, span), 0);
}

TEST(Digest, DependsOnEveryByteAndTheLength) {
  const std::string a = "hello world, hello digest";
  std::string b = a;
  EXPECT_EQ(digest(a.data(), a.size()), digest(b.data(), b.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    b = a;
    b[i] = static_cast<char>(b[i] ^ 1);
    EXPECT_NE(digest(a.data(), a.size()), digest(b.data(), b.size())) << i;
  }
  EXPECT_NE(digest(a.data(), a.size()), digest(a.data(), a.size() - 1));
  EXPECT_EQ(digest("", 0), 0x2d06800538d394c2ULL);  // xxHash's published value
}

}  // namespace
}  // namespace sluice
