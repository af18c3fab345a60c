#include "inference/sampler/constraint/regex_tree.h"

namespace sluice {
namespace {

using State = ByteNfa::State;

State add_repeat(ByteNfa& nfa, State from, const RegexNode& node, const AddCharacter& add) {
  const RegexNode& child = *node.children[0];
  for (int32_t i = 0; i < node.least && !nfa.full(); ++i) from = add_regex(nfa, from, child, add);
  if (node.most == RegexNode::kEndless) {
    const State hub = nfa.add();
    nfa.jump(from, hub);
    nfa.jump(add_regex(nfa, hub, child, add), hub);
    return hub;
  }
  const State end = nfa.add();
  nfa.jump(from, end);
  for (int32_t i = node.least; i < node.most && !nfa.full(); ++i) {
    from = add_regex(nfa, from, child, add);
    nfa.jump(from, end);
  }
  return end;
}

}  // namespace

ByteNfa::State add_regex(ByteNfa& nfa, ByteNfa::State from, const RegexNode& node,
                         const AddCharacter& add) {
  if (nfa.full()) return from;
  switch (node.kind) {
    case RegexNode::Kind::Empty:
      return from;
    case RegexNode::Kind::Character:
      return add(nfa, from, node.set);
    case RegexNode::Kind::Sequence:
      for (const auto& child : node.children) from = add_regex(nfa, from, *child, add);
      return from;
    case RegexNode::Kind::Choice: {
      const State end = nfa.add();
      for (const auto& child : node.children) nfa.jump(add_regex(nfa, from, *child, add), end);
      return end;
    }
    case RegexNode::Kind::Repeat:
      return add_repeat(nfa, from, node, add);
  }
  return from;
}

}  // namespace sluice
