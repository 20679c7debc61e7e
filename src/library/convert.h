// Between the stable types of include/warpmark and the waist.
#pragma once

#include <warpmark/measure.hpp>

#include "base/result.h"
#include "model/metric.h"
#include "model/run.h"

namespace warpmark::library {

[[nodiscard]] v0::Error to_public(const Error& error);
[[nodiscard]] v0::Estimate to_public(double value, const std::optional<Interval>& interval);
/// `first_call_s` is not part of a Run.
[[nodiscard]] v0::Measurement to_public(const Run& run, double first_call_s);
/// By the JSON that it came from.
[[nodiscard]] Result<Run> run_of(const v0::Measurement& measurement);

}  // namespace warpmark::library
