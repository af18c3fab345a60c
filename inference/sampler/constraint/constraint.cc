#include "inference/sampler/constraint/constraint.h"

#include "inference/sampler/constraint/json_schema.h"
#include "inference/sampler/constraint/regex_tree.h"

#include <algorithm>

namespace sluice {
namespace {

ByteNfa::State raw_character(ByteNfa& nfa, ByteNfa::State from, const CodePoints& set) {
  return nfa.character(from, set);
}

}  // namespace

Result<std::shared_ptr<const Constraint>> Constraint::regex(std::string_view pattern) {
  ASSIGN_OR_RETURN(const auto tree, parse_regex(pattern, RegexMatch::Whole));
  ByteNfa nfa;
  const ByteNfa::State end = add_regex(nfa, nfa.start(), *tree, raw_character);
  auto dfa = ByteDfa::from(nfa, end);
  if (!dfa.ok()) return dfa.status().with_context("pattern");
  return std::shared_ptr<const Constraint>(new Constraint(*std::move(dfa)));
}

Result<std::shared_ptr<const Constraint>> Constraint::json_schema(std::string_view schema) {
  ASSIGN_OR_RETURN(const JsonDoc doc, JsonDoc::parse(schema, "json schema"));
  ByteNfa nfa;
  ASSIGN_OR_RETURN(const ByteNfa::State end, add_json_schema(nfa, nfa.start(), doc));
  auto dfa = ByteDfa::from(nfa, end);
  if (!dfa.ok()) return dfa.status().with_context("json schema");
  return std::shared_ptr<const Constraint>(new Constraint(*std::move(dfa)));
}

Result<std::shared_ptr<const Constraint>> Constraint::json_object() {
  return json_schema(R"({"type":"object","additionalProperties":true})");
}

Result<std::shared_ptr<const Constraint>> Constraint::choice(std::span<const std::string> texts) {
  ByteNfa nfa;
  const ByteNfa::State end = nfa.add();
  for (const std::string& text : texts) {
    if (nfa.full()) break;
    nfa.jump(nfa.text(nfa.start(), text), end);
  }
  auto dfa = ByteDfa::from(nfa, end);
  if (!dfa.ok()) return dfa.status().with_context("choice");
  return std::shared_ptr<const Constraint>(new Constraint(*std::move(dfa)));
}

ConstraintMasks::ConstraintMasks(std::shared_ptr<const Constraint> constraint,
                                 std::shared_ptr<const TokenTrie> trie,
                                 std::span<const int64_t> stop_ids)
    : constraint_(std::move(constraint)),
      trie_(std::move(trie)),
      stop_ids_(stop_ids.begin(), stop_ids.end()),
      path_(trie_->depth() + 1) {}

bool ConstraintMasks::is_stop(int64_t token) const noexcept {
  return std::find(stop_ids_.begin(), stop_ids_.end(), token) != stop_ids_.end();
}

std::shared_ptr<const TokenMask> ConstraintMasks::mask(State state) {
  SLUICE_CHECK(state != kDead) << "a mask behind a token that was not allowed";
  if (const auto found = masks_.find(state); found != masks_.end()) return found->second;
  if (masks_.size() >= kMaxMasks) masks_.clear();
  auto made = std::make_shared<const TokenMask>(make_mask(state));
  return masks_.emplace(state, std::move(made)).first->second;
}

TokenMask ConstraintMasks::make_mask(State state) {
  TokenMask mask(trie_->vocabulary());
  const auto& nodes = trie_->nodes();
  const auto& tokens = trie_->tokens();
  path_[0] = state;
  for (uint32_t at = 0; at < nodes.size();) {
    const TokenTrie::Node& node = nodes[at];
    const State next = dfa().next(path_[node.depth], node.byte);
    if (next == kDead) {
      at = node.skip;
      continue;
    }
    for (uint32_t t = node.first_token; t < node.last_token; ++t) mask.allow(tokens[t]);
    path_[node.depth + 1U] = next;
    ++at;
  }
  for (const int64_t stop : stop_ids_) {
    if (stop < 0 || stop >= mask.vocabulary()) continue;
    // Where a stop id also spells text, it ends the sample all the same.
    if (may_end(state)) {
      mask.allow(stop);
    } else {
      mask.forbid(stop);
    }
  }
  return mask;
}

ConstraintMasks::State ConstraintMasks::advance(State state, int64_t token) const noexcept {
  if (state == kDead || token < 0 || token >= trie_->vocabulary()) return kDead;
  if (is_stop(token)) return may_end(state) ? state : kDead;
  const std::string& bytes = trie_->bytes(token);
  return bytes.empty() ? kDead : dfa().walk(state, bytes);
}

}  // namespace sluice
