// What `warpmark analyze` says of profiles: where the time of a step goes, what is wrong, and what fixing it gains.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <warpmark/measure.hpp>

namespace warpmark::v0 {

struct Finding {
  std::string rule;           ///< "data_loading", "launch_overhead", ...: stable
  double severity = 0;        ///< 0 to 1
  std::string title;          ///< one line
  double lost_s = 0;          ///< time of a step that this alone is attributed for
  double gain_low = 1;        ///< estimated speedup if fixed, low end
  double gain_high = 1;       ///< high end
  bool gain_unknown = false;  ///< the recording does not show it; both ends are 1
  std::vector<std::string> evidence;
  std::vector<std::string> recommendations;
};

struct BreakdownPart {
  std::string id;
  std::string group;  ///< "compute", "communication", "copy" or "idle"
  double share = 0;   ///< of the steps
};

struct Analysis {
  std::string verdict;  ///< one sentence
  double step_s = 0;    ///< median of the slowest rank; 0 where no steps were found
  std::vector<BreakdownPart> breakdown;
  std::vector<Finding> findings;  ///< worst first
  std::string json;               ///< warpmark.analysis/1, with every table
  std::string text;               ///< the report
};

/// Profiles of any format that `warpmark analyze` reads; several are the ranks of one program. Data error for what is
/// no profile.
[[nodiscard]] Result<Analysis> analyze(std::span<const std::string> paths);
[[nodiscard]] inline Result<Analysis> analyze(const std::string& path) { return analyze(std::span(&path, 1)); }

}  // namespace warpmark::v0
