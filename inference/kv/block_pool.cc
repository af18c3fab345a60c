#include "inference/kv/block_pool.h"

namespace sluice {

BlockPool::BlockPool(int32_t blocks) {
  SLUICE_CHECK(blocks > 0) << blocks << " blocks";
  blocks_.resize(static_cast<size_t>(blocks));
  for (BlockId id = 0; id < blocks; ++id) push_back(id);
}

BlockPool::Block& BlockPool::at(BlockId id) {
  SLUICE_CHECK(id >= 0 && id < size()) << "block " << id << " of " << size();
  return blocks_[static_cast<size_t>(id)];
}

int32_t BlockPool::refs(BlockId id) const {
  SLUICE_CHECK(id >= 0 && id < size()) << "block " << id << " of " << size();
  return blocks_[static_cast<size_t>(id)].refs;
}

BlockId BlockPool::take() {
  if (head_ == kNoBlock) return kNoBlock;
  const BlockId id = head_;
  unlink(id);
  at(id).refs = 1;
  return id;
}

void BlockPool::ref(BlockId id) {
  if (at(id).refs == 0) unlink(id);
  ++at(id).refs;
}

void BlockPool::unref(BlockId id, Reuse reuse) {
  Block& block = at(id);
  SLUICE_CHECK(block.refs > 0) << "block " << id << " is freed twice";
  if (--block.refs > 0) return;
  if (reuse == Reuse::First) {
    push_front(id);
  } else {
    push_back(id);
  }
}

void BlockPool::push_front(BlockId id) {
  Block& block = at(id);
  block.previous = kNoBlock;
  block.next = head_;
  if (head_ != kNoBlock) at(head_).previous = id;
  head_ = id;
  if (tail_ == kNoBlock) tail_ = id;
  ++free_;
}

void BlockPool::push_back(BlockId id) {
  Block& block = at(id);
  block.next = kNoBlock;
  block.previous = tail_;
  if (tail_ != kNoBlock) at(tail_).next = id;
  tail_ = id;
  if (head_ == kNoBlock) head_ = id;
  ++free_;
}

void BlockPool::unlink(BlockId id) {
  Block& block = at(id);
  if (block.previous != kNoBlock) {
    at(block.previous).next = block.next;
  } else {
    head_ = block.next;
  }
  if (block.next != kNoBlock) {
    at(block.next).previous = block.previous;
  } else {
    tail_ = block.previous;
  }
  block.previous = kNoBlock;
  block.next = kNoBlock;
  --free_;
}

Status BlockPool::check() const {
  int32_t listed = 0;
  BlockId before = kNoBlock;
  for (BlockId id = head_; id != kNoBlock; id = blocks_[static_cast<size_t>(id)].next) {
    const Block& block = blocks_[static_cast<size_t>(id)];
    if (block.refs != 0) return error(Code::Internal, "block {} is free and held", id);
    if (block.previous != before) return error(Code::Internal, "block {} is linked wrongly", id);
    if (++listed > size()) return error(Code::Internal, "the list of free blocks has a ring");
    before = id;
  }
  if (before != tail_) return error(Code::Internal, "the list of free blocks has another end");
  int32_t unheld = 0;
  for (const Block& block : blocks_) {
    if (block.refs < 0) return error(Code::Internal, "a block is held {} times", block.refs);
    if (block.refs == 0) ++unheld;
  }
  if (listed != free_ || unheld != free_) {
    return error(Code::Internal, "{} free blocks, {} in the list, {} not held", free_, listed,
                 unheld);
  }
  return {};
}

}  // namespace sluice
