// The tests that others would have used, beside the one that decides. Pure.
#pragma once

#include <span>
#include <vector>

#include "model/comparison.h"

namespace warpmark::validate {

struct VerdictOptions;

/// median_ratio (BCa bootstrap), mann_whitney, hodges_lehmann (of logs), welch_t (of logs), and of paired variants
/// paired_t, wilcoxon_signed_rank, pseudo_median (of log ratios), equivalence (TOST). Empty below 3 values a side or
/// where a value is not above 0.
[[nodiscard]] std::vector<TestResult> further_tests(std::span<const double> a, std::span<const double> b,
                                                    const VerdictOptions& options);

}  // namespace warpmark::validate
