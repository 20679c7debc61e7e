// The page of a result that was kept as JSON: a verdict in the store, or a file that --json wrote.
#pragma once

#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/check.h"
#include "model/comparison.h"
#include "model/fields/fields_fwd.h"
#include "model/report.h"

namespace warpmark::report {

/// By its "schema"; nothing for one that has no page of its own, or that cannot be read back whole. Data error naming
/// what is missing in it.
[[nodiscard]] Result<std::optional<Report>> report_of_document(const Json& document);

/// What `warpmark validate` concludes: its verdict, the A/B comparison, and the history that OPTIMIZED was checked
/// against.
struct Validation {
  std::string verdict;  ///< "validated", "no_gain", ...
  std::string why;
  int exit_code = 0;
  Comparison comparison;
  std::optional<Check> check;
  std::string no_check;  ///< why there is none
};
extern const RecordOf<Validation> kValidation;  ///< "warpmark.validate/1"

[[nodiscard]] Report build_report(const Validation& validation);

}  // namespace warpmark::report
