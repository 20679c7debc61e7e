// A load as a Run, so that stored loads are compared, checked and followed over time as every other measurement is.
// Pure.
#pragma once

#include "model/run.h"
#include "serving/results/load_result.h"

namespace warpmark::serving {

/// TTFT first (end to end where nothing streams). The requests of the steady part stand for ten rounds of consecutive
/// ones: batch means, as requests that follow one another are alike. The value of a rate is that of the whole window;
/// its samples are the rates of parts of the window.
[[nodiscard]] Run run_of(const LoadReport& report, const ScenarioResult& result, std::int64_t index);

}  // namespace warpmark::serving
