// Measuring one load: here, or by clients that mpirun or srun starts.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "loadtest/prepare.h"
#include "serving/client/prepare_load.h"
#include "serving/results/load_result.h"

namespace warpmark::loadtest {

/// Of the loads of a command.
struct LoadPlace {
  std::int64_t step = 1, steps = 1;
  std::string records_file;  ///< as LoadPlan
};

[[nodiscard]] Result<serving::ScenarioResult> measure_load(const Surroundings& around, const PreparedLoad& request,
                                                           const LoadStep& step, const serving::TokenFit& fit,
                                                           const LoadPlace& place);

/// What was measured before Ctrl-C is judged and written down, which takes its time where there are millions of
/// requests.
void needs_time_for(const serving::LoadOutcome& outcome, const Surroundings& around);

/// The plan of a step with the settings that are the same for all.
[[nodiscard]] Result<serving::LoadPlan> plan_of(const Surroundings& around, const PreparedLoad& request,
                                                const LoadStep& step, const serving::TokenFit& fit);

}  // namespace warpmark::loadtest
