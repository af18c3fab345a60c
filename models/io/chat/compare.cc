#include "models/io/chat/compare.h"

#include "models/io/chat/access.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace sluice::jinja {

namespace {

constexpr int kMaxCompareDepth = 200;

bool too_deep(Runtime& rt, int depth) {
  if (depth <= kMaxCompareDepth) return false;
  rt.fail("values are nested too deep to be compared");
  return true;
}

int compare_numbers(const Value& a, const Value& b, bool& unordered) {
  unordered = false;
  if (a.is_integral() && b.is_integral()) {
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  }
  // Wide enough for every int64_t next to every double.
  const auto wide = [](const Value& v) {
    return v.is(Kind::Float) ? static_cast<long double>(v.real())
                             : static_cast<long double>(v.integer());
  };
  const long double x = wide(a);
  const long double y = wide(b);
  unordered = x != x || y != y;
  return x < y ? -1 : x > y ? 1 : 0;
}

bool equal_at(Runtime& rt, const Value& a, const Value& b, int depth, bool& out);

bool equal_items(Runtime& rt, const std::vector<Value>& a, const std::vector<Value>& b, int depth,
                 bool& out) {
  out = a.size() == b.size();
  for (size_t i = 0; out && i < a.size(); ++i) {
    if (!equal_at(rt, a[i], b[i], depth + 1, out)) return false;
  }
  return true;
}

bool equal_dicts(Runtime& rt, const Dict& a, const Dict& b, int depth, bool& out) {
  out = a.size() == b.size();
  for (const auto& [key, value] : a.entries()) {
    if (!out) break;
    const Value* const other = b.find(key);
    out = other != nullptr;
    if (out && !equal_at(rt, value, *other, depth + 1, out)) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  if (a.length != b.length) return false;
  if (a.length == 0) return true;
  return a.start == b.start && (a.length == 1 || a.step == b.step);
}

bool equal_at(Runtime& rt, const Value& a, const Value& b, int depth, bool& out) {
  if (too_deep(rt, depth) || !rt.step()) return false;
  if (a.is_number() && b.is_number()) {
    bool unordered = false;
    out = compare_numbers(a, b, unordered) == 0 && !unordered;
    return true;
  }
  out = false;
  if (a.kind() != b.kind()) return true;
  switch (a.kind()) {
    case Kind::Undefined:
    case Kind::None:
      out = true;
      return true;
    case Kind::String:
      out = a.text() == b.text();
      return rt.step_bytes(std::min(a.text().size(), b.text().size()));
    case Kind::List:
    case Kind::Tuple:
      return equal_items(rt, a.items(), b.items(), depth, out);
    case Kind::Dict:
      return equal_dicts(rt, a.dict(), b.dict(), depth, out);
    case Kind::Range:
      out = equal_ranges(a.range(), b.range());
      return true;
    case Kind::Method:
      out = a.method().function == b.method().function && a.method().self.same_as(b.method().self);
      return true;
    default:
      out = a.same_as(b);
      return true;
  }
}

bool fail_order(Runtime& rt, Op op, const Value& a, const Value& b) {
  if (a.is(Kind::Undefined)) {
    rt.fail_undefined(a);
  } else if (b.is(Kind::Undefined)) {
    rt.fail_undefined(b);
  } else {
    static constexpr std::string_view kNames[] = {"<", "<=", ">", ">="};
    rt.fail(fmt::format("'{}' not supported between instances of '{}' and '{}'",
                        kNames[static_cast<int>(op) - static_cast<int>(Op::Less)],
                        type_name(a.kind()), type_name(b.kind())));
  }
  return false;
}

// -1, 0 or 1; `unordered` for NaN.
bool order_at(Runtime& rt, Op op, const Value& a, const Value& b, int depth, int& out,
              bool& unordered) {
  if (too_deep(rt, depth) || !rt.step()) return false;
  unordered = false;
  if (a.is_number() && b.is_number()) {
    out = compare_numbers(a, b, unordered);
    return true;
  }
  if (a.is(Kind::String) && b.is(Kind::String)) {
    const int order = a.text().compare(b.text());  // the order of UTF-8 is that of code points
    out = order < 0 ? -1 : order > 0 ? 1 : 0;
    return rt.step_bytes(std::min(a.text().size(), b.text().size()));
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      bool same = false;
      if (!equal_at(rt, x[i], y[i], depth + 1, same)) return false;
      if (!same) return order_at(rt, op, x[i], y[i], depth + 1, out, unordered);
    }
    out = x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
    return true;
  }
  return fail_order(rt, op, a, b);
}

}  // namespace

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::Missing:
    case Kind::Failed:
    case Kind::Undefined:
    case Kind::None:
      return false;
    case Kind::Bool:
    case Kind::Int:
      return value.integer() != 0;
    case Kind::Float:
      return value.real() != 0;
    case Kind::String:
      return !value.text().empty();
    case Kind::List:
    case Kind::Tuple:
      return !value.items().empty();
    case Kind::Dict:
      return value.dict().size() > 0;
    case Kind::Range:
      return value.range().length > 0;
    case Kind::View:
      return value.view().dict->size() > 0;
    case Kind::Loop:
      return !value.loop().items.empty();
    default:
      return true;
  }
}

bool equal(Runtime& rt, const Value& a, const Value& b, bool& out) {
  return equal_at(rt, a, b, 0, out);
}

bool ordered(Runtime& rt, Op op, const Value& a, const Value& b, bool& out) {
  int order = 0;
  bool unordered = false;
  if (!order_at(rt, op, a, b, 0, order, unordered)) return false;
  out = !unordered && (op == Op::Less        ? order < 0
                       : op == Op::LessEqual ? order <= 0
                       : op == Op::Greater   ? order > 0
                                             : order >= 0);
  return true;
}

bool contains(Runtime& rt, const Value& container, const Value& item, bool& out) {
  out = false;
  switch (container.kind()) {
    case Kind::String: {
      if (!item.is(Kind::String)) {
        rt.fail(fmt::format("'in <string>' requires string as left operand, not {}",
                            type_name(item.kind())));
        return false;
      }
      out = find_text(container.text(), item.text()) != std::string_view::npos;
      return rt.step_bytes(container.text().size());
    }
    case Kind::Dict:
      if (!Dict::hash(item)) {
        if (item.is(Kind::Undefined)) return true;
        rt.fail(fmt::format("unhashable type: '{}'", type_name(item.kind())));
        return false;
      }
      out = container.dict().find(item) != nullptr;
      return rt.step();
    case Kind::Range: {
      const Range& range = container.range();
      if (!item.is_number()) return true;
      const double value = item.as_double();
      if (!(value >= -0x1p63 && value < 0x1p63)) return true;  // and NaN
      const auto at = static_cast<int64_t>(value);
      if (static_cast<double>(at) != value || range.length == 0) return true;
      const int64_t last = range.start + (range.length - 1) * range.step;
      out = at >= std::min(range.start, last) && at <= std::max(range.start, last) &&
            (at - range.start) % range.step == 0;
      return true;
    }
    default:
      break;
  }
  std::vector<Value> items;
  if (!iterate(rt, container, items)) return false;
  for (const Value& other : items) {
    if (!equal(rt, item, other, out)) return false;
    if (out) break;
  }
  return true;
}

bool sorted_order(Runtime& rt, const std::vector<Value>& keys, bool reverse,
                  std::vector<size_t>& order) {
  // An own merge sort: comparisons may fail, and NaN gives no strict order, which std::sort needs.
  if (!rt.charge(keys.size() * 2 * sizeof(size_t))) return false;
  order.resize(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<size_t> merged(keys.size());
  for (size_t width = 1; width < keys.size(); width *= 2) {
    for (size_t low = 0; low < keys.size(); low += 2 * width) {
      const size_t middle = std::min(low + width, keys.size());
      const size_t high = std::min(low + 2 * width, keys.size());
      size_t left = low;
      size_t right = middle;
      for (size_t at = low; at < high; ++at) {
        bool take_right = left == middle;
        if (left < middle && right < high) {
          const Value& a = keys[order[left]];
          const Value& b = keys[order[right]];
          if (!(reverse ? ordered(rt, Op::Less, a, b, take_right)
                        : ordered(rt, Op::Less, b, a, take_right))) {
            return false;
          }
        }
        merged[at] = order[take_right ? right++ : left++];
      }
    }
    order.swap(merged);
  }
  return true;
}

}  // namespace sluice::jinja
