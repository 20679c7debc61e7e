// From what was recorded to what is wrong and what fixing it gains: a pure function.
#pragma once

#include <string>
#include <vector>

#include "analyze/recommendations/source_lines.h"
#include "model/analysis.h"
#include "model/profile/profile_session.h"

namespace warpmark::analyze {

struct AnalyzeOptions {
  bool tables = true;            ///< else findings and breakdown only
  std::size_t table_rows = 50;   ///< longest tables
  double least_severity = 0.02;  ///< findings below are left out (compute_bound is kept)
  SourceText source;             ///< of the lines that findings name; may be empty
};

/// Never fails: what the data does not support is absent and named in Analysis::missing. O(n log n).
[[nodiscard]] Analysis analyze(const ProfileSession& session, const AnalyzeOptions& options = {});

/// "3.2x-6.4x", "up to 1.8x" where nothing but the bound is known.
[[nodiscard]] std::string speedup_text(const Gain& gain);

/// What changed from `before` to `after`, per step, by operator and by kernel; also which appeared and vanished.
[[nodiscard]] ProfileDifference diff(const ProfileSession& before, const ProfileSession& after,
                                     const AnalyzeOptions& options = {});

}  // namespace warpmark::analyze
