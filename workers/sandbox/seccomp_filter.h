#pragma once
#include <string>

namespace sluice {

/// A seccomp program (the bytes of a sock_filter array, as bwrap --seccomp reads them) that refuses
/// with EPERM what a sandboxed program has no use for: mounts, tracing, namespaces, modules, keys,
/// BPF, sockets other than local ones, io_uring, .. . A system call of another architecture kills.
/// Empty where this processor is not known.
std::string seccomp_filter();

}  // namespace sluice
