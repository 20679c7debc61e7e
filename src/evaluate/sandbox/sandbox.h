// Runs a program that nobody has read: code that a model wrote. It sees an empty file system with /usr, read-only, no
// network, no home, no other processes; its memory, CPU time, processes, files and output are bounded, and when the
// time is over everything it started is killed. Built of programs that every Debian has (setpriv, prlimit of
// util-linux) and of bubblewrap, which makes the namespaces; nothing runs where they cannot.
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
  std::int64_t memory_bytes = 1LL << 30;  ///< address space of each process
  int cpu_s = 5;                          ///< of each process
  int processes = 64;
  std::int64_t file_bytes = 16LL << 20;  ///< of each file, and of all of /tmp
  std::size_t output_bytes = 1 << 20;    ///< more is read and dropped
};

struct SandboxOutcome {
  bool timed_out = false;
  int exit_code = 0;  ///< 128 + signal if one ended it
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

}  // namespace warpmark::evaluate
