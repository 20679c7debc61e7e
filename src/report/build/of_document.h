// The page of a result that was kept as JSON: a verdict in the store, or a file that --json wrote.
#pragma once

#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/check.h"
#include "model/comparison.h"
#include "model/report.h"

namespace warpmark::report {

/// By its "schema"; nothing for one that has no page of its own, or that cannot be read back whole. Data error naming
/// what is missing in it.
[[nodiscard]] Result<std::optional<Report>> report_of_document(const Json& document);

// What `warpmark validate` says: its verdict, the A/B comparison, and the history that OPTIMIZED was checked against.
// Pure.

struct Validation {
  std::string verdict;  ///< "validated", "no_gain", ...
  std::string why;
  const Comparison& comparison;
  const Check* check = nullptr;
  std::string no_check;  ///< why there is none
};

[[nodiscard]] Report build_report(const Validation& validation);

}  // namespace warpmark::report
