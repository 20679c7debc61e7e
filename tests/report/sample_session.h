// A session as a real machine would produce it: CPU and GPU, every outcome, few and many samples, with disturbance and
// outliers. Deterministic. Rates are made up in a plausible range; statistics, ceilings and peaks are computed by the
// code that does it for real sessions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/run.h"

namespace warpmark::report {

struct SampleShape {
  std::size_t n = 101;
  double noise = 0.003;    ///< relative spread
  double outliers = 0.01;  ///< share of samples that are half as slow again
};

using ParamList = std::vector<std::pair<const char*, ParamValue>>;

[[nodiscard]] Machine sample_machine();

/// A session run by run.
class SampleSession {
 public:
  SampleSession();

  Run& unmeasured(const char* workload, const char* device, const ParamList& params, Outcome outcome,
                  std::string reason, std::string hint = {});
  Run& measured(const char* workload, const char* device, const ParamList& params, const Cost& cost, double seconds,
                const SampleShape& shape = {});

  /// With the ceilings and peaks that follow from the runs.
  [[nodiscard]] Session finish();

 private:
  Session session_;
};

/// About 60 runs of 10 workloads on two devices.
[[nodiscard]] Session sample_session();

/// Nine short runs, for golden files: a curve, every outcome, names that need escaping.
[[nodiscard]] Session small_session();

}  // namespace warpmark::report
