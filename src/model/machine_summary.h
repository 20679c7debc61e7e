// What a machine did over the time that it was watched: the least, mean and most of each figure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace warpmark {

inline constexpr const char* kMonitorSummarySchema = "warpmark.monitor_summary/1";

/// Of the looks at which a figure was told.
struct Extent {
  std::int64_t looks = 0;  ///< 0: it never was, and the rest says nothing
  double least = 0;
  double mean = 0;
  double most = 0;

  void add(double value) {
    least = looks == 0 ? value : std::min(least, value);
    most = looks == 0 ? value : std::max(most, value);
    ++looks;
    mean += (value - mean) / static_cast<double>(looks);
  }
};

struct GpuSummary {
  int index = 0;
  std::string name;
  double memory_bytes = 0;  ///< that it has; 0 where the driver does not tell
  Extent utilization;
  Extent memory_used;  ///< B; `most` is the peak of the looks
  Extent power;
  Extent sm_clock;
  Extent temperature;  ///< degC
  std::int64_t lost_looks = 0;
  std::string problem;
  std::int64_t slowed_looks = 0;
};

struct MachineSummary {
  std::int64_t looks = 0;
  double seconds = 0;
  Extent host_utilization;
  Extent host_memory_used;
  std::vector<GpuSummary> gpus;
  std::string gpu_problem;  ///< why none is listed, at the last look
};

/// "warpmark.monitor_summary/1" (docs/metrics.md). What was never told has no key.
[[nodiscard]] Json to_json(const MachineSummary& summary);

}  // namespace warpmark
