// Runs a program that nobody has read: code that a model wrote. It sees an empty file system with /usr, read-only, no
// network, no home, no environment, no other processes; its memory (of all processes together), CPU time, processes,
// files and output are bounded, and when the time is over everything it started is killed. Built of programs that every
// Debian has (setpriv, prlimit of util-linux) and of bubblewrap, which makes the namespaces and loads the seccomp
// filter of filter.h; nothing runs where they cannot.
//
// It bounds accidents and crude malice. It is no defence against attacks on the kernel itself.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::evaluate {

struct SandboxLimits {
  double deadline_s = 3;                  ///< wall time, the start of the interpreter included
  std::int64_t memory_bytes = 1LL << 30;  ///< address space of each process, and resident memory of all
  int cpu_s = 5;                          ///< of each process
  int processes = 64;
  std::int64_t file_bytes = 16LL << 20;  ///< of each file, and of all of /tmp
  std::size_t output_bytes = 1 << 20;    ///< more is read and dropped
};

struct SandboxOutcome {
  bool timed_out = false;
  bool out_of_memory = false;  ///< all processes together had more than the limit, and were killed
  int exit_code = 0;           ///< 128 + signal if one ended it
  std::string out;
  std::string err;
};

/// Environment error that says what is missing and how to get it, unless a program that does nothing runs in it.
[[nodiscard]] Status sandbox_works();

/// Runs `words` (absolute path of an interpreter first) with a file /sandbox/program of this content, which
/// a word of that name names. Environment error if the sandbox itself fails; what the program does is an outcome.
[[nodiscard]] Result<SandboxOutcome> run_in_sandbox(const std::vector<std::string>& words, const std::string& program,
                                                    const SandboxLimits& limits = {},
                                                    const std::atomic<bool>* interrupted = nullptr);

/// Whether a Python program runs to its last line without an error. Its exit code proves nothing (sys.exit(0) in what
/// it tests): a driver writes a random text to a descriptor of its own when the program is through. What the program
/// prints goes to /dev/null. Errors as above.
[[nodiscard]] Result<bool> python_reaches_its_end(const std::string& interpreter, const std::string& program,
                                                  const SandboxLimits& limits = {},
                                                  const std::atomic<bool>* interrupted = nullptr);

}  // namespace warpmark::evaluate
