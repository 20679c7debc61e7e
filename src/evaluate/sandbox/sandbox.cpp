#include "evaluate/sandbox/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/subprocess.h"

namespace warpmark::evaluate {
namespace {

struct Process {
  int parent = 0;
  std::int64_t pages = 0;
  bool counts = false;
};

/// Field 4 of /proc/PID/stat is the parent, field 24 the resident pages; field 2 may hold blanks and ends with ')'.
bool read_stat(const std::string& text, Process& process) {
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  fields >> skipped >> process.parent;
  for (int field = 5; field < 24; ++field) fields >> skipped;
  fields >> process.pages;
  return !fields.fail();
}

bool descends_from_counted(const std::map<int, Process>& all, int pid) {
  for (std::size_t depth = 0; depth < all.size(); ++depth) {
    const auto found = all.find(pid);
    if (found == all.end()) return false;
    if (found->second.counts) return true;
    pid = found->second.parent;
  }
  return false;
}

/// Resident memory of the processes whose command line has this word, and of all their descendants. Pages that
/// processes share count for each of them.
std::int64_t tree_memory_bytes(std::string_view word) {
  std::map<int, Process> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) continue;
    const auto stat = read_file(entry.path() / "stat");
    const auto command = read_file(entry.path() / "cmdline");
    Process process;
    if (!stat.ok() || !command.ok() || !read_stat(*stat, process)) continue;  // it has ended
    process.counts = command->find(word) != std::string::npos;
    all.emplace(std::atoi(name.c_str()), process);
  }
  std::int64_t pages = 0;
  for (const auto& [pid, process] : all) {
    if (descends_from_counted(all, pid)) pages += process.pages;
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

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

/// A seccomp filter for bubblewrap's --seccomp: system calls that reach memory outside of every limit (memfd_create,
/// System V segments, shared memory without a file), that make namespaces or mounts, or that widen the kernel's
/// surface, fail with EPERM. The program as bytes of struct sock_filter, for this architecture; calls of any other are
/// killed.
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

namespace fs = std::filesystem;

constexpr const char* kMark = "sandbox-started";  // on stderr, before the program: what comes earlier is the sandbox's

constexpr std::int64_t kLongestEnd_ns = 20'000'000'000;
constexpr std::int64_t kMemoryPoll_ns = 50'000'000;  // between looks at the memory of all processes

/// Reads the proof and the program from its input. Names of the program lead to neither; who searches the interpreter
/// for the proof finds it (docs/accuracy.md).
constexpr const char* kDriver = R"py(
import os, sys, types
end, write, leave = 8, os.write, os._exit
proof, source = sys.stdin.buffer.read().split(b"\n", 1)
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 0)
program = types.ModuleType("__main__")
sys.modules["__main__"] = program
exec(compile(source, "<program>", "exec"), program.__dict__)
write(end, proof)
leave(0)
)py";

/// A folder for one program, gone afterwards.
class ProgramFolder {
 public:
  [[nodiscard]] Status make(const std::string& program) {
    WM_ASSIGN(folder_, ScratchFolder::make("sandbox"));
    ::chmod(path().c_str(), 0755);  // read by the user that the sandbox becomes
    for (const auto& [file, text] : {std::pair{path() / "lock", std::string()}, std::pair{path() / "program", program},
                                     std::pair{path() / "filter", sandbox_filter()}}) {
      WM_TRY(write_file(file, text));
      ::chmod(file.c_str(), 0644);  // whatever the mask
    }
    return {};
  }
  /// All processes of the sandbox hold the lock until they end; killing them takes the kernel a moment.
  void wait_until_empty() const {
    const int lock = ::open((path() / "lock").c_str(), O_RDONLY | O_CLOEXEC);
    const std::int64_t until = monotonic_ns() + kLongestEnd_ns;
    while (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0 && monotonic_ns() < until) {
      const timespec pause{0, 5'000'000};
      ::nanosleep(&pause, nullptr);
    }
    if (lock >= 0) ::close(lock);
  }
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
};

void append(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

/// Newer than some bubblewraps that are in use; the filter refuses namespaces there.
bool can_disable_userns() {
  static const bool can = [] {
    const auto help = run_process({"bwrap", "--help"});
    return help.ok() && (help->out + help->err).find("--disable-userns") != std::string::npos;
  }();
  return can;
}

/// `script` starts the program, "$@", inside.
std::vector<std::string> sandboxed(const std::vector<std::string>& words, const std::string& script,
                                   const fs::path& folder, const SandboxLimits& limits) {
  std::vector<std::string> all;
  // Limits on processes do not hold for root, so root becomes nobody first.
  if (::geteuid() == 0) append(all, {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"});
  append(all, {"flock", "--no-fork", (folder / "lock").string()});
  append(all, {"prlimit", fmt::format("--nproc={}", limits.processes), fmt::format("--as={}", limits.memory_bytes),
               fmt::format("--cpu={}", limits.cpu_s), fmt::format("--fsize={}", limits.file_bytes), "--nofile=64",
               "--core=0", "--"});
  // Without an environment: the program could read that of bubblewrap, its process 1.
  append(all, {"env", "-i", "/bin/sh", "-c", "exec \"$@\" 9<\"$0\"", (folder / "filter").string()});
  append(all, {"bwrap",
               "--unshare-all",
               "--unshare-user",
               "--seccomp",
               "9",
               "--die-with-parent",
               "--new-session",
               "--clearenv",
               "--setenv",
               "PATH",
               "/usr/bin:/bin",
               "--setenv",
               "HOME",
               "/tmp",
               "--setenv",
               "LANG",
               "C.UTF-8",
               "--ro-bind",
               "/usr",
               "/usr"});
  if (can_disable_userns()) append(all, {"--disable-userns"});
  for (const char* name : {"bin", "lib", "lib64"}) {
    append(all, {"--symlink", fmt::format("usr/{}", name), fmt::format("/{}", name)});
  }
  append(all, {"--proc", "/proc", "--dev", "/dev", "--ro-bind", folder.string(), "/sandbox"});
  append(all, {"--ro-bind", "/dev/null", "/dev/zero"});  // mapped, it would be shared memory without a file
  for (const char* writable : {"/tmp", "/dev/shm"}) {
    append(all, {"--size", std::to_string(limits.file_bytes), "--tmpfs", writable});
  }
  // What is left of the root and of /dev is memory as well.
  append(all, {"--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"});
  append(all, {"/bin/sh", "-c", fmt::format("echo {} >&2; {}", kMark, script), "sh"});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

constexpr const char* kHint =
    "install bubblewrap (apt install bubblewrap), and allow user namespaces: "
    "sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0";

std::string random_text() {
  std::random_device source;
  std::string text;
  for (int i = 0; i < 8; ++i) text += fmt::format("{:08x}", source());
  return text;
}

Result<SandboxOutcome> run_in(const ProgramFolder& folder, const std::vector<std::string>& words,
                              const std::string& input, const SandboxLimits& limits,
                              const std::atomic<bool>* interrupted) {
  bool too_much = false;
  std::int64_t next_poll = 0;  // asked again with each piece of output
  const auto output = run_process(words, {.deadline_s = limits.deadline_s,
                                          .output_cap_bytes = limits.output_bytes,
                                          .directory = "/",
                                          .input = input,
                                          .environment = {},
                                          .own_group = true,
                                          .interrupted = interrupted,
                                          .should_stop = [&] {
                                            if (const std::int64_t now = monotonic_ns(); now >= next_poll) {
                                              too_much =
                                                  tree_memory_bytes(folder.path().string()) > limits.memory_bytes;
                                              next_poll = now + kMemoryPoll_ns;
                                            }
                                            return too_much;
                                          }});
  folder.wait_until_empty();
  if (!output.ok()) {
    if (interrupted != nullptr && interrupted->load()) return output.error();
    if (too_much) return SandboxOutcome{.out_of_memory = true, .exit_code = 137};
    if (output.error().code == ErrorCode::deadline) return SandboxOutcome{.timed_out = true, .exit_code = 124};
    return Error{output.error().kind, "the sandbox cannot start: " + output.error().what, kHint};
  }
  const auto mark = output->err.find(kMark);
  if (mark == std::string::npos) {
    return environment_error("the sandbox cannot start: " + output->err.substr(0, output->err.find('\n')), kHint);
  }
  return SandboxOutcome{.exit_code = output->exit_code,
                        .out = output->out,
                        .err = output->err.substr(std::min(output->err.size(), mark + std::strlen(kMark) + 1))};
}

}  // namespace

Result<SandboxOutcome> run_in_sandbox(const std::vector<std::string>& words, const std::string& program,
                                      const SandboxLimits& limits, const std::atomic<bool>* interrupted) {
  ProgramFolder folder;
  WM_TRY(folder.make(program));
  return run_in(folder, sandboxed(words, "exec \"$@\"", folder.path(), limits), "", limits, interrupted);
}

Result<bool> python_reaches_its_end(const std::string& interpreter, const std::string& program,
                                    const SandboxLimits& limits, const std::atomic<bool>* interrupted) {
  ProgramFolder folder;
  WM_TRY(folder.make(""));
  const std::string proof = random_text();
  const auto words =
      sandboxed({interpreter, "-c", kDriver}, "exec \"$@\" 8>&2 >/dev/null 2>/dev/null", folder.path(), limits);
  WM_ASSIGN(const auto outcome, run_in(folder, words, proof + "\n" + program, limits, interrupted));
  return !outcome.timed_out && outcome.exit_code == 0 && outcome.err.find(proof) != std::string::npos;
}

Status sandbox_works() {
  const auto outcome = run_in_sandbox({"/bin/true"}, "", {.deadline_s = 20});
  if (!outcome.ok()) return outcome.error();
  if (outcome->exit_code == 0 && !outcome->timed_out) return {};
  return environment_error(fmt::format("a program that does nothing ends with {} in the sandbox", outcome->exit_code),
                           kHint);
}

}  // namespace warpmark::evaluate
