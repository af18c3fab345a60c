// Random lives of sequences against a model of what each slot must hold.
#include "dataflow/base/random.h"
#include "inference/kv/kv_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>

namespace sluice {
namespace {

constexpr int32_t kBlocks = 24;
constexpr int32_t kBlockSize = 4;

/// What a slot holds: a digest of all tokens up to its own, as keys and values depend on them.
using Slots = std::vector<uint64_t>;

uint64_t next_digest(uint64_t before, int64_t token, uint64_t root) {
  return RandomKey(before).split(root).split(static_cast<uint64_t>(token)).value();
}

struct Sequence {
  std::vector<int64_t> tokens;
  int64_t computed = 0;
  uint64_t root = 0;
  BlockTable table;
};

class Soak {
 public:
  explicit Soak(uint64_t seed) : key_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      ASSERT_NO_FATAL_FAILURE(check()) << "step " << i;
    }
    for (Sequence& s : live_) space_.release(s.table);
    live_.clear();
    ASSERT_TRUE(space_.check({}).ok());
    ASSERT_EQ(space_.free_blocks(), kBlocks);
    EXPECT_GT(hits_, 0);
    EXPECT_GT(copied_, 0);
  }

 private:
  uint64_t draw(uint64_t below) { return key_.word(counter_++) % below; }

  Sequence* any() {
    if (live_.empty()) return nullptr;
    auto it = live_.begin();
    std::advance(it, draw(live_.size()));
    return &*it;
  }

  void act() {
    Sequence* s = any();
    const uint64_t what = draw(10);
    if (s == nullptr || (what < 3 && live_.size() < 8)) return start();
    if (what < 7) return grow(*s);
    if (what < 8 && live_.size() < 8) return fork(*s);
    if (what < 9) {
      if (draw(20) == 0) {
        space_.forget_prefixes();
        for (Sequence& each : live_) each.table.cacheable = false;
      }
      return;
    }
    space_.release(s->table, draw(4) != 0);
    live_.remove_if([&](const Sequence& each) { return &each == s; });
  }

  void start() {
    Sequence& s = live_.emplace_back();
    s.root = draw(2);
    // Few different tokens: prefixes meet.
    const auto n = 1 + draw(20);
    for (uint64_t i = 0; i < n; ++i) s.tokens.push_back(static_cast<int64_t>(draw(8) / 7));
    s.computed =
        space_.attach(s.table, prefix_root({1, 1, static_cast<int64_t>(s.root), 1}), s.tokens);
    ASSERT_LT(s.computed, std::ssize(s.tokens));
    hits_ += s.computed;
  }

  /// Computes some tokens of `s` and of another sequence in one step, or takes them back.
  void grow(Sequence& s) {
    if (s.computed == std::ssize(s.tokens)) s.tokens.push_back(static_cast<int64_t>(draw(2)));
    const int64_t n = 1 + static_cast<int64_t>(draw(6));
    const int64_t end = std::min(std::ssize(s.tokens), s.computed + n);
    const int32_t free = space_.free_blocks();
    const int64_t needed = space_.needed(s.table, s.computed, end);
    const bool room = space_.reserve(s.table, s.computed, end);
    ASSERT_EQ(room, needed <= free);
    if (!room) return;
    if (draw(4) == 0) {
      space_.rollback();
      ASSERT_EQ(space_.free_blocks(), free);
      return;
    }
    copied_ += std::ssize(space_.copies());
    for (const BlockCopy& copy : space_.copies()) {
      std::copy_n(slots_.begin() + copy.from * kBlockSize, kBlockSize,
                  slots_.begin() + copy.to * kBlockSize);
    }
    for (; s.computed < end; ++s.computed) {
      const uint64_t before = s.computed == 0 ? 0 : slot(s, s.computed - 1);
      slot(s, s.computed) = next_digest(before, s.tokens[static_cast<size_t>(s.computed)], s.root);
    }
    space_.commit();
    space_.cache_full(s.table, s.tokens, s.computed);
  }

  void fork(const Sequence& s) {
    Sequence child = s;
    child.table = space_.fork(s.table);
    live_.push_back(std::move(child));
  }

  uint64_t& slot(const Sequence& s, int64_t token) {
    const BlockId block = s.table.blocks.at(static_cast<size_t>(token / kBlockSize));
    return slots_.at(static_cast<size_t>(block * kBlockSize + token % kBlockSize));
  }

  void check() {
    std::vector<const BlockTable*> tables;
    for (const Sequence& s : live_) tables.push_back(&s.table);
    const Status status = space_.check(tables);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const Sequence& s : live_) {
      uint64_t digest = 0;
      for (int64_t t = 0; t < s.computed; ++t) {
        digest = next_digest(digest, s.tokens[static_cast<size_t>(t)], s.root);
        ASSERT_EQ(slot(s, t), digest) << "token " << t;
      }
    }
  }

  RandomKey key_;
  uint64_t counter_ = 0;
  KvSpace space_{kBlocks, kBlockSize};
  Slots slots_ = Slots(static_cast<size_t>(kBlocks * kBlockSize));
  std::list<Sequence> live_;
  int64_t hits_ = 0;
  int64_t copied_ = 0;
};

TEST(KvSpaceSoak, EverySequenceFindsItsOwnKeysWhateverHappens) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(Soak(seed).run(3000));
  }
}

}  // namespace
}  // namespace sluice
