#pragma once
#include "envs/text/expression.h"

namespace sluice {

/// Whether two formulas have the same value for all values of their symbols. Rational functions are
/// compared exactly (as polynomials crosswise multiplied out, with GiNaC); what holds roots or
/// functions and does not cancel that way is compared at four points with 40 digits, and counts as
/// equal when 30 of them agree wherever both sides are defined. `e` and `pi` are the constants, `i`
/// the imaginary unit. A side without symbols that holds a decimal point is compared with a
/// relative tolerance of 2e-6: 0.333333 is 1/3.
///
/// Time is bounded by the size of what would be multiplied out, which is estimated first:
/// ResourceExhausted when it is too large, InvalidArgument for a division by zero. Any thread;
/// calls take turns, since GiNaC is not thread-safe.
Result<bool> same_value(const Expression& a, const Expression& b);

}  // namespace sluice
