// Measuring a plan: rounds over all cases, a time budget, ceilings and peaks, and a record of everything as it is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/round.h"
#include "model/run.h"
#include "workloads/plan.h"

namespace warpmark::session {

/// Where a session stands, for people who wait.
struct Progress {
  std::size_t slices_done = 0;  ///< a slice is one round of one case
  std::size_t slices = 0;
  double elapsed_s = 0;
  double left_s = 0;       ///< estimate
  bool left_known = true;  ///< false until the first slice has ended, where it takes longer than slices do
  std::string stage{};     ///< what a long round is doing: "starting python3"; empty where it does not say
  std::string current;     ///< "gemm cpu dtype=f32 ..., round 2 of 3"
};

/// What happens as measuring goes on. A Status that fails is remembered and reported; measuring goes on.
struct SessionEvents {
  std::function<Status(const Run& round, std::int64_t number)> round_done;
  std::function<Status(const Run& run)> run_done;
  std::function<void(const Progress&)> progress;
};

struct SessionOptions {
  double budget_s = 0;  ///< 0 is without limit
  int rounds = 3;
  measure::StoppingOptions stopping;
  double slice_s = 2.0;   ///< most sampling time for one round of one case
  double warmup_s = 1.0;  ///< cap of the warm-up of one round
  double energy_s = 0.3;  ///< on devices with an energy counter
  std::uint64_t seed = 1;
  const std::atomic<bool>* interrupted = nullptr;
};

using Devices = std::map<std::string, std::unique_ptr<device::Device>>;

/// What an interrupted session has already measured; runs carry their index into the plan.
struct Known {
  std::vector<Run> runs;    ///< of finished cases
  std::vector<Run> rounds;  ///< of unfinished ones, in order
};

/// Measures every case of the plan that `known` lacks and fills session.runs, ceilings and peaks. Returns the first
/// error of an event, if any; the session holds everything measured all the same.
[[nodiscard]] Status run_session(const std::vector<workloads::PlannedCase>& plan, const SessionOptions& options,
                                 Devices& devices, const Known& known, const SessionEvents& events, Session& session);

/// Ceilings and peaks of a session from its own runs; sorts the runs by index.
void attach_peaks(Session& session);

/// The command that measures this run again.
[[nodiscard]] std::string repro_line(const Run& run);

/// "gemm m=1024 n=1024 k=1024 dtype=f32".
[[nodiscard]] std::string label_of(const workloads::PlannedCase& planned);

}  // namespace warpmark::session
