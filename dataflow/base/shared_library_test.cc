#include "dataflow/base/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(SharedLibrary, OpensTheFirstThatIsThere) {
  const auto library = SharedLibrary::open({"/nonexistent/libm.so.6", "libm.so.6"});
  ASSERT_TRUE(library.ok()) << library.status().to_string();
  EXPECT_EQ(library->path(), "libm.so.6");
  EXPECT_NE(library->symbol("cos"), nullptr);
  EXPECT_EQ(library->symbol("no_such_function"), nullptr);
}

TEST(SharedLibrary, SaysInOneLineWhyNoneCouldBeLoaded) {
  const auto library = SharedLibrary::open({"/nonexistent/a.so", "/nonexistent/b.so"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().code(), Code::Unavailable);
  EXPECT_THAT(library.status().message(), HasSubstr("/nonexistent/a.so"));
  EXPECT_THAT(library.status().message(), HasSubstr("/nonexistent/b.so"));
  EXPECT_THAT(library.status().message(), Not(HasSubstr("\n")));
}

TEST(SharedLibrary, LooksBesideTheProgramUnlessToldWhere) {
  EXPECT_THAT(SharedLibrary::places("libx.so", "SLUICE_TEST_NO_SUCH_VARIABLE"),
              ElementsAre(EndsWith("/libx.so"), EndsWith("../lib/libx.so")));
  setenv("SLUICE_TEST_LIBRARY", "/elsewhere/y.so", 1);
  EXPECT_THAT(SharedLibrary::places("libx.so", "SLUICE_TEST_LIBRARY"),
              ElementsAre("/elsewhere/y.so"));
  unsetenv("SLUICE_TEST_LIBRARY");
}

}  // namespace
}  // namespace sluice
