// Experiment: anything that turns a configuration into a Run, such as a workload, a user's command, a collective, a
// serving scenario. Comparing, guarding and tuning see only this, so that they work for all of them.
#pragma once

#include "base/result.h"
#include "model/params.h"
#include "model/run.h"

namespace warpmark::measure {

/// "k=v" settings that differ between runs; what they mean is the experiment's business.
using Config = Overrides;

class Experiment {
 public:
  virtual ~Experiment() = default;

  /// One run, independent of all others as far as the experiment can make it (a fresh process where it can). Metrics
  /// hold what this run measured, the environment what was seen around it. Usage error for settings that it does not
  /// have; data error where what it runs fails or does not tell its metrics; environment error for a timeout. One
  /// thread at a time.
  virtual Result<Run> run(const Config& config) = 0;
};

}  // namespace warpmark::measure
