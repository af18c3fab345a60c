#include "dataflow/base/whereabouts.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Whereabouts, NamesThePartOnlyWhileItIsInIt) {
  Whereabouts where;
  where.call("environment 'x'", "slot");
  EXPECT_EQ(where.text(), "");
  where.enter(3, 40);
  EXPECT_EQ(where.text(), "environment 'x', slot 3, step 40");
  where.enter(0, 41);
  EXPECT_EQ(where.text(), "environment 'x', slot 0, step 41");
  where.leave();
  EXPECT_EQ(where.text(), "");
}

}  // namespace
}  // namespace sluice
