// The page of `warpmark load compare`. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"
#include "serving/results/load_comparison.h"

namespace warpmark::loadtest {

/// "TTFT p95", "output throughput".
[[nodiscard]] std::string number_name(const serving::ComparedNumber& number);

/// `commands`: that measured the variants; empty where unknown.
[[nodiscard]] Report comparison_page_of(const serving::LoadComparison& comparison,
                                        const std::vector<std::string>& commands);

}  // namespace warpmark::loadtest
