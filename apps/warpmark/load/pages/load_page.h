// The report of `warpmark load run` as a page: all loads side by side, what grows with the load, and each load with its
// latencies and judgements.
#pragma once

#include "model/report.h"
#include "serving/results/load_result.h"

namespace warpmark::apps {

/// Of the loads that this run has measured.
[[nodiscard]] Report load_page_of(const serving::LoadReport& report);

}  // namespace warpmark::apps
