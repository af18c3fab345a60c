#include "inference/kv/kv_space.h"

#include <algorithm>

namespace sluice {

KvSpace::KvSpace(int32_t blocks, int32_t block_size, PrefixCache::Hash hash)
    : pool_(blocks), cache_(blocks, block_size, hash) {}

int64_t KvSpace::attach(BlockTable& table, const ChainPoint& root, std::span<const int64_t> tokens,
                        bool find) {
  SLUICE_CHECK(table.blocks.empty()) << "the table has blocks";
  const int64_t limit = find ? (std::ssize(tokens) - 1) / block_size() : 0;
  table.blocks = cache_.find(root, tokens, limit, &table.place);
  for (const BlockId block : table.blocks) pool_.ref(block);
  table.registered = std::ssize(table.blocks);
  table.cacheable = true;
  return table.registered * block_size();
}

int64_t KvSpace::shared_block(const BlockTable& table, int64_t begin) const {
  const int64_t index = begin / block_size();
  if (begin % block_size() == 0 || index >= std::ssize(table.blocks)) return -1;
  return pool_.refs(table.blocks[static_cast<size_t>(index)]) > 1 ? index : -1;
}

int64_t KvSpace::needed(const BlockTable& table, int64_t begin, int64_t end) const {
  const int64_t more = std::max<int64_t>(0, blocks_for(end) - std::ssize(table.blocks));
  return more + (shared_block(table, begin) >= 0 ? 1 : 0);
}

BlockId KvSpace::take() {
  const BlockId block = pool_.take();
  SLUICE_CHECK(block != kNoBlock) << "no free block";
  cache_.erase(block);
  return block;
}

void KvSpace::drop(BlockId block) {
  pool_.unref(block, cache_.contains(block) ? BlockPool::Reuse::Last : BlockPool::Reuse::First);
}

bool KvSpace::reserve(BlockTable& table, int64_t begin, int64_t end) {
  SLUICE_CHECK(begin < end && blocks_for(begin) <= std::ssize(table.blocks))
      << "tokens " << begin << " to " << end << " behind " << table.blocks.size() << " blocks";
  if (needed(table, begin, end) > pool_.free()) return false;
  Undo undo;
  undo.table = &table;
  undo.size = table.blocks.size();
  if (const int64_t shared = shared_block(table, begin); shared >= 0) {
    undo.copied = static_cast<size_t>(shared);
    undo.old = table.blocks[undo.copied];
    table.blocks[undo.copied] = take();
    copies_.push_back({undo.old, table.blocks[undo.copied]});
  }
  while (std::ssize(table.blocks) < blocks_for(end)) table.blocks.push_back(take());
  undo_.push_back(undo);
  return true;
}

void KvSpace::commit() {
  // The copied blocks were held until here: their content was needed, and a rollback might be.
  for (const Undo& undo : undo_) {
    if (undo.old != kNoBlock) drop(undo.old);
  }
  undo_.clear();
  copies_.clear();
}

void KvSpace::rollback() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
    std::vector<BlockId>& blocks = undo->table->blocks;
    while (blocks.size() > undo->size) {
      drop(blocks.back());
      blocks.pop_back();
    }
    if (undo->old != kNoBlock) {
      drop(blocks[undo->copied]);
      blocks[undo->copied] = undo->old;
    }
  }
  undo_.clear();
  copies_.clear();
}

void KvSpace::cache_full(BlockTable& table, std::span<const int64_t> tokens, int64_t computed) {
  if (!table.cacheable) return;
  const int64_t size = block_size();
  SLUICE_CHECK(computed <= std::ssize(tokens) && blocks_for(computed) <= std::ssize(table.blocks))
      << computed << " tokens of " << tokens.size() << " in " << table.blocks.size() << " blocks";
  for (int64_t& i = table.registered; (i + 1) * size <= computed; ++i) {
    table.place = cache_.insert(
        table.place, tokens.subspan(static_cast<size_t>(i * size), static_cast<size_t>(size)),
        table.blocks[static_cast<size_t>(i)]);
  }
}

void KvSpace::truncate(BlockTable& table, int64_t tokens) {
  SLUICE_CHECK(undo_.empty() && table.registered <= blocks_for(tokens))
      << "to " << tokens << " tokens, " << table.registered << " blocks are cached";
  while (std::ssize(table.blocks) > blocks_for(tokens)) {
    drop(table.blocks.back());
    table.blocks.pop_back();
  }
}

BlockTable KvSpace::fork(const BlockTable& table) {
  for (const BlockId block : table.blocks) pool_.ref(block);
  return table;
}

void KvSpace::release(BlockTable& table, bool keep) {
  for (auto block = table.blocks.rbegin(); block != table.blocks.rend(); ++block) {
    if (!keep) cache_.erase(*block);
    drop(*block);
  }
  table = {};
}

void KvSpace::forget_prefixes() { cache_.clear(); }

Status KvSpace::check(const std::vector<const BlockTable*>& tables) const {
  RETURN_IF_ERROR(pool_.check());
  std::vector<int32_t> holders(static_cast<size_t>(pool_.size()), 0);
  for (const BlockTable* table : tables) {
    for (const BlockId block : table->blocks) ++holders.at(static_cast<size_t>(block));
  }
  for (const Undo& undo : undo_) {
    if (undo.old != kNoBlock) ++holders.at(static_cast<size_t>(undo.old));
  }
  for (BlockId block = 0; block < pool_.size(); ++block) {
    const int32_t held = holders[static_cast<size_t>(block)];
    if (held != pool_.refs(block)) {
      return error(Code::Internal, "block {} is held by {} tables and counts {}", block, held,
                   pool_.refs(block));
    }
  }
  return {};
}

}  // namespace sluice
