// The page of a load test, in every format: its verdict, then the loads. Pure.
#pragma once

#include <optional>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/report.h"
#include "serving/results/load_result.h"

namespace warpmark::loadtest {

/// With curves over the load where one scenario was measured at several.
[[nodiscard]] Report load_page_of(const serving::LoadReport& report);
/// The same with the loads that --resume found.
[[nodiscard]] Report whole_page_of(const serving::LoadReport& report);

/// Of what any verb wrote with --json or keeps in the store, a load test or not; nothing for a document without a page.
/// Data error naming what is missing in it.
[[nodiscard]] Result<std::optional<Report>> page_of_document(const Json& document);

}  // namespace warpmark::loadtest
