#include "evaluate/sandbox/filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <vector>

namespace warpmark::evaluate {
namespace {

constexpr long kMemfdSecret = 447;  // newer than the headers of Debian 12
constexpr long kIoUringSetup = 425;
constexpr long kClone3 = 435;

constexpr long kRefused[] = {
    SYS_memfd_create,
    kMemfdSecret,
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    kIoUringSetup,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_open_by_handle_at,
};

/// All flags of clone that make a namespace.
constexpr unsigned kNewNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

/// Shared memory without a file stays when it is dropped from the page table, and no resident size shows it.
constexpr unsigned kSharedMemory = MAP_SHARED | MAP_ANONYMOUS;

constexpr unsigned kX32Calls = 0x40000000;  // on x86-64: the same calls by other numbers

unsigned native_architecture() {
  constexpr long kWriteOfX86 = 1;
  return SYS_write == kWriteOfX86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
}

sock_filter statement(int code, unsigned value) { return {static_cast<__u16>(code), 0, 0, value}; }

sock_filter jump(int code, unsigned value, int if_true, int if_false) {
  return {static_cast<__u16>(BPF_JMP | BPF_K | code), static_cast<__u8>(if_true), static_cast<__u8>(if_false), value};
}

sock_filter answer(unsigned action) { return statement(BPF_RET | BPF_K, action); }

}  // namespace

std::string sandbox_filter() {
  const auto load = [](std::size_t offset) {
    return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
  };
  std::vector<sock_filter> program{
      load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, native_architecture(), 1, 0),
      answer(SECCOMP_RET_KILL_PROCESS),   load(offsetof(seccomp_data, nr)),
      jump(BPF_JGE, kX32Calls, 0, 1),     answer(SECCOMP_RET_ERRNO | EPERM),
      jump(BPF_JEQ, kClone3, 0, 1),
      answer(SECCOMP_RET_ERRNO | ENOSYS),  // its flags are in memory; the C library goes on with clone
  };
  for (const long call : kRefused) {
    program.push_back(jump(BPF_JEQ, static_cast<unsigned>(call), 0, 1));
    program.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
  }
  const std::size_t first = offsetof(seccomp_data, args), fourth = first + 3 * sizeof(seccomp_data::args[0]);
  program.push_back(jump(BPF_JEQ, SYS_clone, 0, 4));
  program.push_back(load(first));
  program.push_back(jump(BPF_JSET, kNewNamespaces, 0, 1));
  program.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
  program.push_back(answer(SECCOMP_RET_ALLOW));
  program.push_back(jump(BPF_JEQ, SYS_mmap, 0, 4));
  program.push_back(load(fourth));
  program.push_back(statement(BPF_ALU | BPF_AND | BPF_K, kSharedMemory));
  program.push_back(jump(BPF_JEQ, kSharedMemory, 0, 1));
  program.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
  program.push_back(answer(SECCOMP_RET_ALLOW));
  return {reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter)};
}

}  // namespace warpmark::evaluate
