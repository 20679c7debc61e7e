// The page of a result that was kept as JSON: a verdict in the store, or a file that --json wrote.
#pragma once

#include <optional>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/report.h"

namespace warpmark::report {

/// By its "schema"; nothing for one that has no page of its own, or that cannot be read back whole. Data error naming
/// what is missing in it.
[[nodiscard]] Result<std::optional<Report>> report_of_document(const Json& document);

}  // namespace warpmark::report
