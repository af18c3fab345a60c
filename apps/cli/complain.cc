#include "apps/cli/commands.h"

#include <cstdio>

namespace sluice {

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

}  // namespace sluice
