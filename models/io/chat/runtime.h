#pragma once
#include "dataflow/base/result.h"
#include "models/io/chat/dict.h"
#include "models/io/chat/limits.h"
#include "models/io/chat/value.h"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::jinja {

/// What one rendering owns: its values, its budget, and the first failure. Values are freed
/// together at the end, so what a rendering makes, not what it holds, is bounded.
class Runtime {
 public:
  explicit Runtime(const RenderLimits& limits) : limits_(limits) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Records a failure at the current line (the first one stays) and gives Value::failed().
  Value fail(std::string_view message);
  Value exhausted(std::string_view what);
  [[nodiscard]] bool failed() const { return !status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }

  /// Takes work from the budget; false, with the failure recorded, when it is used up.
  [[nodiscard]] bool step(int64_t work = 1) {
    steps_ += work;
    return steps_ <= limits_.max_steps || out_of_steps();
  }
  /// As step(), for something that walks over `bytes` of text.
  [[nodiscard]] bool step_bytes(size_t bytes) {
    return step(1 + static_cast<int64_t>(bytes / 256));
  }
  /// Takes memory from the budget, before it is allocated.
  [[nodiscard]] bool charge(size_t bytes);
  /// charge(count * size), without overflow.
  [[nodiscard]] bool charge_items(int64_t count, size_t size);
  [[nodiscard]] const RenderLimits& limits() const { return limits_; }

  /// Values; Failed when the budget is used up.
  Value str(std::string text);
  Value str_view(std::string_view outside);  ///< text that outlives the rendering
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items);
  Value slice(Value start, Value stop, Value step);
  Value dict(Dict dict);
  Value space(Dict attributes);
  Value range(int64_t start, int64_t stop, int64_t step, int64_t length);
  Value view(const Dict& dict, View::What what);
  Value iterator(std::vector<Value> items);
  Value method(Value self, const Function* function);
  /// Undefined, with `message` for whoever uses it.
  Value undefined(std::string message);
  /// The failure that using an undefined value is.
  Value fail_undefined(const Value& undefined);
  Loop* make_loop(std::vector<Value> items);

  int line = 1;            ///< of the node that is being evaluated
  int nested_filters = 0;  ///< filters that are applying a filter or test to items
  std::function<std::tm()> now;

 private:
  bool out_of_steps();
  Value seq(std::vector<Value> items, Value (*make)(const Seq*));

  const RenderLimits limits_;
  int64_t steps_ = 0;
  size_t memory_ = 0;
  Status status_;
  std::deque<Str> strings_;
  std::deque<Seq> seqs_;
  std::deque<Dict> dicts_;
  std::deque<Range> ranges_;
  std::deque<View> views_;
  std::deque<Iterator> iterators_;
  std::deque<Loop> loops_;
  std::deque<Method> methods_;
};

}  // namespace sluice::jinja
