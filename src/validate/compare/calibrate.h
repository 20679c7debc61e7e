// What an A/A comparison tells about this machine: how often equal variants are called different, and how small a
// difference can be found. Pure.
#pragma once

#include <vector>

#include "model/comparison.h"
#include "validate/judge/verdict.h"

namespace warpmark::validate {

/// Of each metric with a ratio and at least 7 rounds; `comparison` must be paired with equal variants. The
/// false-positive rate is that of the whole procedure, looks after every round included, over 2000 random exchanges of
/// A and B within rounds: under equality each is as likely as what was measured.
[[nodiscard]] std::vector<MetricCalibration> calibrate(const Comparison& comparison, const VerdictOptions& options);

}  // namespace warpmark::validate
