#include "validate/guard/history_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "validate/guard/regression.h"

namespace warpmark::validate {

std::string how_to_complete_history(const Check& check, const std::string& command) {
  std::int64_t missing = 0;
  for (const MetricCheck& metric : check.metrics) {
    if (metric.verdict != Verdict::inconclusive || metric.baseline.empty() || metric.current.empty()) continue;
    missing = std::max(missing, history_needed(static_cast<std::int64_t>(check.sessions.size())) -
                                    static_cast<std::int64_t>(metric.baseline.size()));
  }
  if (missing <= 0) return {};
  return fmt::format("To complete the history, measure {} {} more time{}: {}", check.branch, missing,
                     missing == 1 ? "" : "s", command.starts_with("warpmark run ") ? command : "warpmark run -- CMD");
}

}  // namespace warpmark::validate
