// Running another program to its end, with a deadline and a cap on its output; and this program itself once more.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark {

struct ProcessOutput {
  int exit_code = 0;  ///< 128 + signal number if a signal ended it
  std::string out;
  std::string err;
  double wall_s = 0;                   ///< from its start until it ended
  double cpu_s = 0;                    ///< user and system time of it and of the descendants it waited for
  std::int64_t peak_memory_bytes = 0;  ///< largest resident set of any of them
};

struct ProcessOptions {
  double deadline_s = 10;
  std::size_t output_cap_bytes = 64 << 20;  ///< of stdout and of stderr; the rest is read and dropped
  std::string directory;                    ///< working directory; empty keeps ours
  std::string input{};                      ///< its standard input; empty: none
  /// Without input, and where ours is a terminal: an empty terminal of the same size, which ends at once when it is
  /// read. Programs that ask for the width of theirs run as they do in a shell.
  bool like_terminal = false;
  /// Variables set or replaced in our environment.
  std::vector<std::pair<std::string, std::string>> environment;
  /// In a process group of its own, without a terminal; what it leaves behind is killed when it ends. In any case all
  /// that it started is killed at the deadline, on interruption, also where that ended the program itself, and when we
  /// are killed (base/processes/reaper.h).
  bool own_group = false;
  const std::atomic<bool>* interrupted = nullptr;  ///< once true the program is killed; an environment error
  /// Asked several times a second; once true the program is killed as if interrupted.
  std::function<bool()> should_stop{};
  /// Given what the program prints as it comes, in pieces that need not be lines.
  std::function<void(std::string_view)> on_out{};
  std::function<void(std::string_view)> on_err{};
  /// Above 0: a program that is to be killed first gets SIGTERM, and this long to end what it started.
  double grace_s = 0;
};

/// Runs `words` (found on PATH). Environment error if it cannot be started or outlives the
/// deadline; it is then killed.
[[nodiscard]] Result<ProcessOutput> run_process(const std::vector<std::string>& words,
                                                const ProcessOptions& options = {});

/// Runs `words` (found on PATH) in place of this program, with these variables set or replaced in its environment.
/// Returns only where it cannot be started, with the reason.
[[nodiscard]] Error replace_process(std::vector<std::string> words,
                                    const std::vector<std::pair<std::string, std::string>>& environment);

/// The file of the running program, to start it once more or to find what lies beside it; none of the words it was
/// started with need name it. Environment error without /proc. Any thread.
[[nodiscard]] Result<std::filesystem::path> own_executable();

}  // namespace warpmark
