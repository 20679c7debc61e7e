#include "evaluate/sandbox/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/subprocess.h"
#include "evaluate/sandbox/filter.h"
#include "evaluate/sandbox/tree_memory.h"

namespace warpmark::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "sandbox-started";  // on stderr, before the program: what comes earlier is the sandbox's

constexpr std::int64_t kLongestEnd_ns = 20'000'000'000;
constexpr std::int64_t kMemoryLook_ns = 50'000'000;  // between looks at the memory of all processes

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
  std::int64_t next_look = 0;  // asked again with each piece of output
  const auto output = run_process(words, {.deadline_s = limits.deadline_s,
                                          .output_cap_bytes = limits.output_bytes,
                                          .directory = "/",
                                          .input = input,
                                          .environment = {},
                                          .own_group = true,
                                          .interrupted = interrupted,
                                          .should_stop = [&] {
                                            if (const std::int64_t now = monotonic_ns(); now >= next_look) {
                                              too_much =
                                                  tree_memory_bytes(folder.path().string()) > limits.memory_bytes;
                                              next_look = now + kMemoryLook_ns;
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
