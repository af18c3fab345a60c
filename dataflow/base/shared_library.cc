#include "dataflow/base/shared_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace sluice {
namespace {

/// Folder of the running program, with a slash at its end; empty when the system does not say.
std::string program_folder() {
  std::array<char, 4096> buffer{};
  const ssize_t size = readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (size <= 0) return {};
  const std::string path(buffer.data(), static_cast<size_t>(size));
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& paths) {
  std::string reasons;
  for (const std::string& path : paths) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary(handle, path);
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", dlerror());
  }
  return Status(Code::Unavailable, reasons);
}

std::vector<std::string> SharedLibrary::places(const std::string& file, const char* variable) {
  if (const char* set = std::getenv(variable); set != nullptr && *set != '\0') return {set};
  const std::string folder = program_folder();
  return {folder + file, folder + "../lib/" + file};
}

void* SharedLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace sluice
