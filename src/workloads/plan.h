// From what was asked for (names, globs, a suite, --set, --sweep) to the list of cases to measure.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "measure/round.h"
#include "model/machine.h"
#include "workloads/suite.h"

namespace warpmark::workloads {

/// A case of the session, or why it cannot be measured. Others are measured all the same.
struct PlannedCase {
  measure::Case what;
  std::optional<Error> invalid;
  bool for_ceiling = false;  ///< added because a selected case needs its limit
  /// Of a parameter that is doubled until memory is used up (--sweep batch=auto): being out of memory is a result, and
  /// larger ones of the case need not be tried.
  bool until_memory = false;
};

/// Expands every entry over matching workloads, devices and sweep values, in that order; equal cases appear once.
/// Usage error for a workload or parameter that nothing has, with a suggestion.
[[nodiscard]] Result<std::vector<PlannedCase>> make_plan(Catalog<measure::Workload> catalog,
                                                         const std::vector<SuiteEntry>& entries,
                                                         const std::vector<DeviceInfo>& devices);

/// Puts in front what the peaks of the plan need and the plan does not measure itself: memory bandwidth, the peak rate
/// of each data type, the cost of a launch.
void add_ceiling_cases(std::vector<PlannedCase>& plan, Catalog<measure::Workload> catalog,
                       const std::vector<DeviceInfo>& devices);

}  // namespace warpmark::workloads
