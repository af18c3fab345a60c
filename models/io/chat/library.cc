#include "models/io/chat/library.h"

#include "models/io/chat/library_parts.h"

#include <initializer_list>
#include <span>
#include <unordered_map>

namespace sluice::jinja {

namespace {

using Table = std::unordered_map<std::string_view, const Function*>;

Table table(std::initializer_list<std::span<const Function>> parts) {
  Table names;
  for (const auto part : parts) {
    for (const Function& function : part) names.emplace(function.name, &function);
  }
  return names;
}

const Function* look_up(const Table& names, std::string_view name) {
  const auto at = names.find(name);
  return at == names.end() ? nullptr : at->second;
}

}  // namespace

const Function* find_filter(std::string_view name) {
  static const Table kNames =
      table({text_filters(), number_filters(), sequence_filters(), select_filters()});
  return look_up(kNames, name);
}

const Function* find_test(std::string_view name) {
  static const Table kNames = table({tests()});
  return look_up(kNames, name);
}

const Function* find_global(std::string_view name) {
  static const Table kNames = table({globals()});
  return look_up(kNames, name);
}

const Function* find_method(Kind kind, std::string_view name) {
  static const Table kString = table({string_methods(), string_case_methods()});
  static const Table kList = table({list_methods()});
  static const Table kDict = table({dict_methods()});
  static const Table kLoop = table({loop_methods()});
  switch (kind) {
    case Kind::String:
      return look_up(kString, name);
    case Kind::List:
    case Kind::Tuple:
    case Kind::Range:
      return look_up(kList, name);
    case Kind::Dict:
      return look_up(kDict, name);
    case Kind::Loop:
      return look_up(kLoop, name);
    default:
      return nullptr;
  }
}

}  // namespace sluice::jinja
