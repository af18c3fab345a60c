// What must hold of the list of families.
#include "models/transformer/architecture.h"

#include "models/transformer/golden_support.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace sluice {
namespace {

namespace fs = std::filesystem;

TEST(Architecture, EveryFileOfAFamilyIsListed) {
  std::set<std::string> families;
  for (const Architecture* a : architectures()) families.insert(a->family);
  std::set<std::string> files;
  for (const auto& file : fs::directory_iterator(SLUICE_SOURCE_DIR "/models/transformer/arch")) {
    if (file.path().extension() == ".cc") files.insert(file.path().stem().string());
  }
  EXPECT_EQ(families, files);
}

TEST(Architecture, NamesAreTakenOnce) {
  std::set<std::string> names;
  for (const Architecture* a : architectures()) {
    EXPECT_TRUE(names.insert(a->family).second) << a->family;
    for (const std::string& name : {a->causal_lm, a->classifier, a->base}) {
      EXPECT_TRUE(name.empty() || names.insert(name).second) << name;
    }
    EXPECT_TRUE(a->read != nullptr && a->write != nullptr) << a->family;
  }
}

TEST(Architecture, EveryFamilyHasAGoldenModel) {
  for (const Architecture* a : architectures()) {
    EXPECT_TRUE(fs::exists(golden::folder(a->family) + "/golden.safetensors")) << a->family;
  }
}

}  // namespace
}  // namespace sluice
