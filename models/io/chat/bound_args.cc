#include "models/io/chat/bound_args.h"

#include "models/io/chat/compare.h"
#include "models/io/chat/text.h"

#include <algorithm>

namespace sluice::jinja {

BoundArgs::BoundArgs(Runtime& rt, const CallArgs& call, std::string_view function,
                     std::initializer_list<std::string_view> parameters, size_t required)
    : rt_(rt), function_(function) {
  SLUICE_CHECK(parameters.size() <= kMax);
  const auto fail = [&](const std::string& what) {
    rt.fail(fmt::format("{}(): {}", function, what));
    ok_ = false;
  };
  if (call.args.size() > parameters.size()) {
    fail(fmt::format("takes at most {} arguments, not {}", parameters.size(), call.args.size()));
    return;
  }
  std::copy(call.args.begin(), call.args.end(), values_.begin());
  for (const auto& [key, value] : call.keywords) {
    const auto at = std::find(parameters.begin(), parameters.end(), key);
    const bool known = !key.empty() && at != parameters.end();
    Value* const slot = known ? &values_[static_cast<size_t>(at - parameters.begin())] : nullptr;
    if (slot == nullptr) {
      fail(fmt::format("unexpected keyword argument '{}'", key));
    } else if (!slot->is(Kind::Missing)) {
      fail(fmt::format("argument '{}' is given twice", key));
    } else {
      *slot = value;
    }
  }
  for (size_t i = 0; ok_ && i < required; ++i) {
    if (!given(i)) fail(fmt::format("needs at least {} arguments", required));
  }
}

bool BoundArgs::integer(size_t i, int64_t& out) {
  if (!given(i)) return true;
  if (values_[i].is(Kind::Undefined)) {
    rt_.fail_undefined(values_[i]);
    return false;
  }
  if (!values_[i].is_integral()) {
    rt_.fail(fmt::format("{}(): '{}' object cannot be interpreted as an integer", function_,
                         type_name(values_[i].kind())));
    return false;
  }
  out = values_[i].integer();
  return true;
}

bool BoundArgs::text(size_t i, std::string_view& out) {
  if (!given(i)) return true;
  if (values_[i].is(Kind::Undefined)) {
    rt_.fail_undefined(values_[i]);
    return false;
  }
  if (!values_[i].is(Kind::String)) {
    rt_.fail(
        fmt::format("{}(): expected a string, got {}", function_, type_name(values_[i].kind())));
    return false;
  }
  out = values_[i].text();
  return true;
}

bool BoundArgs::flag(size_t i, bool otherwise) const {
  return given(i) ? truthy(values_[i]) : otherwise;
}

bool BoundArgs::as_text(size_t i, std::string_view& out) {
  return !given(i) || text_of(rt_, values_[i], storage_[i], out);
}

}  // namespace sluice::jinja
