#include "workers/sandbox/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

#if defined(__x86_64__)

namespace {

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kNoSuchCall = SECCOMP_RET_ERRNO | ENOSYS;
constexpr uint32_t kForeignCalls = 0x40000000;  // the x32 table

constexpr uint32_t kRefused[] = {SYS_ptrace,
                                 SYS_process_vm_readv,
                                 SYS_process_vm_writev,
                                 SYS_mount,
                                 SYS_umount2,
                                 SYS_pivot_root,
                                 SYS_chroot,
                                 SYS_unshare,
                                 SYS_setns,
                                 SYS_bpf,
                                 SYS_perf_event_open,
                                 SYS_userfaultfd,
                                 SYS_keyctl,
                                 SYS_add_key,
                                 SYS_request_key,
                                 SYS_init_module,
                                 SYS_finit_module,
                                 SYS_delete_module,
                                 SYS_kexec_load,
                                 SYS_kexec_file_load,
                                 SYS_reboot,
                                 SYS_swapon,
                                 SYS_swapoff,
                                 SYS_open_by_handle_at,
                                 SYS_name_to_handle_at,
                                 SYS_personality,
                                 SYS_io_uring_setup,
                                 SYS_io_uring_enter,
                                 SYS_io_uring_register,
                                 SYS_acct,
                                 SYS_quotactl,
                                 SYS_syslog,
                                 SYS_iopl,
                                 SYS_ioperm,
                                 SYS_settimeofday,
                                 SYS_clock_settime,
                                 SYS_fsopen,
                                 SYS_fsmount,
                                 SYS_move_mount,
                                 SYS_open_tree,
                                 SYS_mount_setattr,
                                 SYS_pidfd_getfd,
                                 SYS_vhangup,
                                 SYS_sethostname};

sock_filter statement(uint16_t code, uint32_t k) { return {code, 0, 0, k}; }
sock_filter jump(uint16_t test, uint32_t k, uint8_t if_true, uint8_t if_false) {
  return {static_cast<uint16_t>(BPF_JMP | test | BPF_K), if_true, if_false, k};
}
sock_filter load(size_t offset) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
sock_filter give(uint32_t verdict) { return statement(BPF_RET | BPF_K, verdict); }

}  // namespace

std::string seccomp_filter() {
  std::vector<sock_filter> program = {
      load(offsetof(seccomp_data, arch)),
      jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
      give(SECCOMP_RET_KILL_PROCESS),
      load(offsetof(seccomp_data, nr)),
      jump(BPF_JGE, kForeignCalls, 0, 1),
      give(SECCOMP_RET_KILL_PROCESS),
      // Its arguments stand in memory that a filter cannot read; libc then takes clone().
      jump(BPF_JEQ, SYS_clone3, 0, 1),
      give(kNoSuchCall),
  };
  for (const uint32_t call : kRefused) {
    program.push_back(jump(BPF_JEQ, call, 0, 1));
    program.push_back(give(kRefuse));
  }
  const std::vector<sock_filter> rest = {
      // No new namespaces by clone().
      jump(BPF_JEQ, SYS_clone, 0, 4),
      load(offsetof(seccomp_data, args)),
      jump(BPF_JSET,
           CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
               CLONE_NEWCGROUP,
           0, 1),
      give(kRefuse),
      give(SECCOMP_RET_ALLOW),
      // Local sockets only.
      jump(BPF_JEQ, SYS_socket, 0, 3),
      load(offsetof(seccomp_data, args)),
      jump(BPF_JEQ, AF_UNIX, 1, 0),
      give(kRefuse),
      give(SECCOMP_RET_ALLOW),
  };
  program.insert(program.end(), rest.begin(), rest.end());
  return {reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter)};
}

#else

std::string seccomp_filter() { return {}; }

#endif

}  // namespace sluice
