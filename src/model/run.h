// Run: one measured configuration, with everything needed to trust, compare and repeat it. Session: the runs of one
// invocation. A number without its environment and its repro line is not a Run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/cost.h"
#include "model/machine.h"
#include "model/metric.h"
#include "model/params.h"

namespace warpmark {

enum class Outcome {
  passed,
  failed,       ///< it ran and its output is wrong: no speed is shown
  unreliable,   ///< measured, but the machine was disturbed: the reason says by what
  unsupported,  ///< this device, library or build does not offer it
  skipped,      ///< not run: the reason says why
  error,        ///< it could not be run: bad parameters, no memory, a broken library
};

/// How the inputs meet the caches. Never reported as one another.
enum class Mode {
  cold,   ///< inputs rotate over more than twice the last-level cache
  hot,    ///< the same input every launch
  graph,  ///< replays of a captured CUDA graph, inputs rotating as in cold
};

/// Comparison of the timed launches' output with a reference in higher precision.
struct ErrorCheck {
  double value = 0;       ///< relative error ||out - ref|| / ||ref||, or the count of wrong elements where exact
  double tolerance = 0;   ///< passes if value <= tolerance
  std::string norm;       ///< what `value` is: "relative Frobenius norm", "elements that differ", ...
  std::string reference;  ///< what it was compared with
};

struct Warmup {
  std::int64_t launches = 0;
  double seconds = 0;
  bool settled = false;
  std::string reason;  ///< "median of 8 moved by 0.1 %", "stopped at the cap of 2 s", ...
  std::optional<double> first_s;
};

struct Timing {
  std::string method;                    ///< "tsc", "clock_monotonic_raw", "cuda_event", "cuda_graph", "host clock"
  double resolution_s = 0;               ///< smallest step of the timer, measured
  double overhead_s = 0;                 ///< cost of reading it, measured; already subtracted from the samples
  std::int64_t launches_per_sample = 1;  ///< above 1: short work was batched and a sample is the mean of the batch
  std::int64_t sets = 1;
};

/// One fact of the environment around a measurement; absent where it could not be read.
struct Reading {
  std::string id;  ///< "cpu_steal", "load_average", "sm_clock", "temperature", ...
  std::string unit;
  std::optional<double> before;
  std::optional<double> after;
};

/// Something that happened during the measurement and may have changed it.
struct Disturbance {
  std::string id;     ///< "steal", "throttle_thermal", "competing_process", ...
  std::string cause;  ///< a sentence with the numbers
  bool invalidates = false;
  std::string device = {};  ///< "cuda:0"; empty: the machine, or not known
};

struct Environment {
  std::vector<Reading> readings;
  std::vector<Disturbance> disturbances;
};

struct Run {
  std::string id;  ///< "<session>.<index>"
  std::int64_t index = 0;
  std::string workload;
  Params params;
  std::string device;  ///< DeviceInfo::id
  Mode mode = Mode::hot;
  Outcome outcome = Outcome::skipped;
  std::optional<ErrorKind> fault;  ///< of an outcome "error": whose fault it is; decides the exit code
  bool out_of_memory = false;
  std::string reason;
  std::string hint;
  std::vector<Metric> metrics;
  Cost cost;
  std::optional<Peak> peak;
  std::optional<ErrorCheck> error;
  Environment environment;
  Warmup warmup;
  Timing timing;
  std::string stopped_because;
  std::string stop_cause;  ///< of stopped_because, what rounds have in common; not stored
  bool converged = false;
  std::int64_t rounds = 0;
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, std::string>> notes;  ///< "algorithm", "batched", ...
  std::string started;
  std::string repro;
};

/// Everything one invocation measured. JSON: "warpmark.results/1".
struct Session {
  std::string id;
  std::string started;
  std::string command;
  std::string commit;  ///< of the user's repository in the working directory, empty outside one
  std::string branch;
  bool dirty = false;
  bool complete = false;
  Machine machine;
  Build build;
  std::vector<Ceiling> ceilings;
  std::vector<Run> runs;
  std::vector<std::string> remarks;  ///< what the reader of a file left out or warns of; for people, not stored
};

}  // namespace warpmark
