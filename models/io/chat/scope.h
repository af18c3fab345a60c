#pragma once
#include "models/io/chat/ast.h"

#include <string_view>
#include <utility>
#include <vector>

namespace sluice::jinja {

/// The variables that a block sets, within those of the block around it.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string_view, Value>> variables;

  void set(std::string_view name, const Value& value) {
    for (auto& [known, old] : variables) {
      if (known == name) {
        old = value;
        return;
      }
    }
    variables.emplace_back(name, value);
  }
  [[nodiscard]] const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
      for (const auto& [known, value] : scope->variables) {
        if (known == name) return &value;
      }
    }
    return nullptr;
  }
};

/// A macro, or the body of a call block, with the scope it was written in.
struct MacroValue {
  const Signature* signature = nullptr;
  const Body* body = nullptr;
  Scope* scope = nullptr;
};

}  // namespace sluice::jinja
