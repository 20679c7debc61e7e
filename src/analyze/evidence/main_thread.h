// What the threads that launch the work were doing while the GPU had none: samples of the kernel's scheduler tell
// whether one ran (Python, preprocessing) or all were blocked (a loader, a lock, a disk).
#pragma once

#include <optional>
#include <string>

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

/// Shares of the time of the analyzed steps, 0..1, which sum to 1; and of the GPU's idle time in them.
struct MainThread {
  std::string name;    ///< as the system has it; of the one that launches the most
  int threads = 0;     ///< that launch work, by turns: one of them is in the state, or all are blocked
  double running = 0;  ///< on a processor; waiting for the GPU in a loop counts here
  double waiting = 0;  ///< could run and had no processor
  double blocked = 0;
  double idle_blocked_low = 0;   ///< of the GPU's idle time, blocked at least ...
  double idle_blocked_high = 0;  ///< ... and at most: samples are further apart than idle stretches
};

/// Of the rank's threads that launch work. Nothing if they were not sampled in the steps.
[[nodiscard]] std::optional<MainThread> main_thread(const ProfileSession& session, const RankEvidence& rank);

/// What the bounds allow to say in one sentence; empty if they allow nothing.
[[nodiscard]] std::string idle_text(const MainThread& thread);

}  // namespace warpmark::analyze
