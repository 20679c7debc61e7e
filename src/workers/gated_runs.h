// Runs of hooked programs that start at once and take their steps one after another: what they load and build, and the
// first steps of their warm-up, happen side by side, and each has the machine to itself from then on.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "workers/hooked_program.h"

namespace warpmark::workers {

struct GatedRun {
  Result<HookedRun> run;    ///< as of run_hooked(); a run that was cut by a deadline is Ending::timed_out
  double cpu_before_s = 0;  ///< CPU time until it came to its gate
  double turn_s = 0;        ///< from its turn, or the start of all, until it had ended
};

/// Of one thread. What did not have its turn is ended with this object.
class GatedRuns {
 public:
  /// Starts all, each with a scratch folder of its own in `scratch`, which is made anew and removed at the end. The
  /// gate, deadline and `interrupted` of the commands are set here; they have no deadline before their turn.
  GatedRuns(std::vector<HookedCommand> commands, const std::filesystem::path& hook, std::filesystem::path scratch,
            const std::atomic<bool>* interrupted = nullptr);
  ~GatedRuns();
  GatedRuns(GatedRuns&&) = delete;
  GatedRuns& operator=(GatedRuns&&) = delete;

  /// Until each waits at its gate or has ended, but no longer than this.
  void await_all(double most_s);
  /// Whether it stands at its gate: it has neither ended, nor does it still work beside the others.
  [[nodiscard]] bool waits(std::size_t i) const;
  /// Its steps: it goes on and is waited for, but no longer than `deadline_s`; then it is killed, as is one that did
  /// not come to its gate. Once for each.
  [[nodiscard]] GatedRun turn(std::size_t i, double deadline_s);

 private:
  class One;
  std::filesystem::path scratch_;
  const std::atomic<bool>* interrupted_;
  double began_s_;
  std::vector<std::unique_ptr<One>> all_;
};

}  // namespace warpmark::workers
