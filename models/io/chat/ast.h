#pragma once
#include "models/io/chat/value.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<std::unique_ptr<Stmt>>;

enum class Op : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn
};

/// The arguments at a call, filter or test, as written.
struct ArgList {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr star;       ///< *args
  ExprPtr star_star;  ///< **kwargs
};

/// An expression. What its members mean depends on `kind`; those not named are unused.
struct Expr {
  enum class Kind : uint8_t {
    Constant,   ///< constant
    Name,       ///< text
    List,       ///< items
    Tuple,      ///< items
    Dict,       ///< items: key, value, key, value ..
    Attribute,  ///< items[0] . text
    Item,       ///< items[0] [ items[1] ]
    Slice,      ///< items: start, stop, step; each may be null
    Call,       ///< items[0] ( args )
    Filter,     ///< items[0] (null: the body of the block) | text ( args )
    Test,       ///< items[0] is text ( args )
    Not,
    Negative,
    Positive,  ///< items[0]
    Binary,    ///< items[0] ops[0] items[1]
    Compare,   ///< items[0] ops[0] items[1] ops[1] items[2] ..
    And,
    Or,         ///< items[0], items[1]
    Concat,     ///< items joined by ~
    Condition,  ///< items: test, then, else (may be null)
    Member,     ///< namespace text . items[0]'s text; only assigned to
  };
  Kind kind = Kind::Constant;
  int line = 1;
  int height = 1;  ///< of the tree below
  Value constant;
  std::unique_ptr<Str> text;  ///< a name, or what a String constant points to
  std::vector<ExprPtr> items;
  std::vector<Op> ops;
  std::unique_ptr<ArgList> args;
};

/// A macro's or call block's parameters.
struct Signature {
  std::string name;  ///< of the macro
  std::vector<std::string> parameters;
  std::vector<ExprPtr> defaults;  ///< of the last parameters
  bool takes_varargs = false;     ///< the body speaks of `varargs`
  bool takes_kwargs = false;
  bool takes_caller = false;
};

/// A statement. What its members mean depends on `kind`; those not named are unused.
struct Stmt {
  enum class Kind : uint8_t {
    Text,         ///< text
    Print,        ///< value
    For,          ///< for target in value if test: body, otherwise
    If,           ///< branches, otherwise
    Set,          ///< target = value
    SetBlock,     ///< target = body through value (a filter chain, may be null)
    With,         ///< values (target, value pairs in branches' place), body
    Macro,        ///< signature, body
    CallBlock,    ///< value is the call, signature of the body
    FilterBlock,  ///< value is the filter chain, body
    Generation,   ///< body, whose output is a generated span
    Break,
    Continue,
  };
  Kind kind = Kind::Text;
  int line = 1;
  std::string text;
  ExprPtr target;
  ExprPtr value;
  ExprPtr test;
  std::unique_ptr<Signature> signature;
  std::vector<std::pair<ExprPtr, Body>> branches;     ///< If: condition and body
  std::vector<std::pair<ExprPtr, ExprPtr>> bindings;  ///< With
  Body body;
  Body otherwise;
};

}  // namespace sluice::jinja
