// The report of an optimization: what was gained, the way there as a waterfall, every trial with what was predicted and
// measured, the lines to write into the program, and the log.
#pragma once

#include <vector>

#include "model/optimization.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Optimization& optimization);

/// From the original's time through each kept step to the measured end.
[[nodiscard]] Waterfall waterfall_of(const Optimization& optimization);

/// Bottlenecks of the recorded original; changes that only the program itself can make.
[[nodiscard]] Section findings_section(const Optimization& optimization);
[[nodiscard]] Section advice_section(const Optimization& optimization);

/// Of one technique, over all optimizations of the store: what was predicted and what was measured.
struct CalibrationRow {
  std::string knob;
  double predicted_low = 1;
  double predicted_high = 1;
  double measured = 1;
  std::string started;
};
[[nodiscard]] Report build_calibration_report(const std::vector<CalibrationRow>& rows);

}  // namespace warpmark::report
