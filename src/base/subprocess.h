// Running another program to its end, with a deadline and a cap on its output.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark {

struct ProcessOutput {
  int exit_code = 0;  ///< 128 + signal number if a signal ended it
  std::string out;
  std::string err;
};

struct ProcessOptions {
  double deadline_s = 10;
  std::size_t output_cap_bytes = 64 << 20;  ///< of stdout and of stderr; the rest is read and dropped
  std::string directory;                    ///< working directory; empty keeps ours
};

/// Runs `words` (found on PATH), with no standard input. Environment error if it cannot be started or outlives the
/// deadline; it is then killed.
[[nodiscard]] Result<ProcessOutput> run_process(const std::vector<std::string>& words,
                                                const ProcessOptions& options = {});

}  // namespace warpmark
