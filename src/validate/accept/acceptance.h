// Does a machine, or a release, fulfil its criteria? Pure.
//
// A measured value passes or fails by its interval: only where the whole interval is on one side of the limit is the
// row decided. The interval holds the order-statistic interval of the median over all samples and, of three or more
// rounds, the t interval of the rounds' medians on logarithms, as rounds differ by more than their samples tell
// (Kalibera, Jones, ISMM 2013; see stats/compare.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/datasheet.h"
#include "model/acceptance.h"
#include "model/across.h"
#include "model/run.h"
#include "validate/accept/criteria.h"

namespace warpmark::validate {

struct AcceptanceInput {
  const Session* session = nullptr;  ///< the results; nullptr if there are none
  std::string no_session;            ///< why there are none
  Machine machine;                   ///< that is judged: the session's, or this one
  std::vector<Fact> facts;           ///< of that machine
  std::string no_facts;              ///< why facts that are missing could not be read: "the results are of ..."
  std::span<const device::Datasheet> datasheets;
};

/// Rows in the order of the criteria, one for each device or matching result. Data error for a limit whose unit the
/// result does not have, and for an unknown datasheet.
[[nodiscard]] Result<Acceptance> judge_acceptance(const Criteria& criteria, const AcceptanceInput& input);

/// By the interval, or by the value alone where it is exact.
[[nodiscard]] RowState decide(double value, const std::optional<Interval>& interval, Comparator comparator,
                              std::span<const double> limits);

/// Whether a result has these parameters; sizes and numbers compare by value ("64MiB" is 67108864), "mode" too.
[[nodiscard]] bool has_params(const Run& run, const Overrides& set);

/// The interval of a metric's median as above; absent where there are too few samples.
[[nodiscard]] std::optional<Interval> interval_over_rounds(const Metric& metric);

struct NodeResults {
  std::string file;
  Session session;
};

struct AcrossOptions {
  double effect = 0.03;
  double alpha = 0.05;
};

/// Usage error for fewer than two devices together, the same session twice, or nothing in common.
[[nodiscard]] Result<Across> judge_across(const std::vector<NodeResults>& nodes, const AcrossOptions& options);

}  // namespace warpmark::validate
