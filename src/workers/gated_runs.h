// Runs of hooked programs that start at once and take their steps one after another: what they load and build before
// their first step happens side by side, and each has the machine to itself from then on.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <vector>

#include "base/result.h"
#include "workers/hooked_program.h"

namespace warpmark::workers {

struct GatedRun {
  Result<HookedRun> run;    ///< as of run_hooked(); a run that was cut by a deadline is Ending::timed_out
  bool waited = false;      ///< it came to its first step; else it ended before, or never takes one
  double cpu_before_s = 0;  ///< CPU time until then
  double turn_s = 0;        ///< from its turn, or the start of all, until it had ended
};

struct GatedOptions {
  double deadline_s = 600;  ///< for what comes before the first steps, and for each turn ...
  double all_s = std::numeric_limits<double>::infinity();  ///< ... and for all of them together
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(std::size_t)> before_turn{};  ///< on the calling thread, as is the next
  std::function<void(std::size_t, const GatedRun&)> after_turn{};
};

/// Starts all, each with a scratch folder of its own within `scratch`, which is made anew and removed. When each waits
/// before its first step or has ended, they go on in this order, the next when one has ended. Their plans' `gate`,
/// deadline and `interrupted` are set here. Returns when all have ended; one for each command.
[[nodiscard]] std::vector<GatedRun> run_gated(std::vector<HookedCommand> commands, const std::filesystem::path& hook,
                                              const std::filesystem::path& scratch, const GatedOptions& options);

}  // namespace warpmark::workers
