#pragma once
#include "models/io/chat/interpreter.h"

namespace sluice::jinja {

/// Counts how deep the interpreter is in the template while it lives.
class Interpreter::Depth {
 public:
  explicit Depth(Interpreter& interpreter) : interpreter_(interpreter) {
    ok_ = ++interpreter_.depth_ <= interpreter_.rt_.limits().max_depth;
    if (!ok_) {
      interpreter_.rt_.exhausted(
          fmt::format("more than {} levels deep", interpreter_.rt_.limits().max_depth));
    }
  }
  ~Depth() { --interpreter_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  Interpreter& interpreter_;
  bool ok_;
};

/// Makes a scope current while it lives, and frees it unless a macro was written in it.
class Interpreter::Inner {
 public:
  Inner(Interpreter& interpreter, Scope* parent)
      : interpreter_(interpreter),
        outer_(interpreter.scope_),
        macros_(interpreter.macros_.size()),
        ok_(interpreter.pay_for_scope()) {
    own_ = interpreter.scope_ = &interpreter.scopes_.emplace_back(Scope{parent, {}});
  }
  ~Inner() {
    interpreter_.scope_ = outer_;
    const bool last = &interpreter_.scopes_.back() == own_;
    if (last && interpreter_.macros_.size() == macros_) interpreter_.scopes_.pop_back();
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  Interpreter& interpreter_;
  Scope* const outer_;
  const Scope* own_ = nullptr;
  const size_t macros_;
  const bool ok_;
};

}  // namespace sluice::jinja
