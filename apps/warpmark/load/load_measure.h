// Measuring one load: here, or by clients that mpirun or srun starts.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "serving/client/prepare_load.h"
#include "serving/results/load_result.h"
#include "warpmark/command.h"
#include "warpmark/load/load_live.h"
#include "warpmark/load/load_request.h"

namespace warpmark::apps {

/// Of the loads of a command.
struct LoadPlace {
  std::int64_t step = 1, steps = 1;
  std::string records_file;  ///< as LoadPlan
};

[[nodiscard]] Result<serving::ScenarioResult> measure_load(Context& context, const LoadRequest& request,
                                                           const LoadStep& step, const serving::TokenFit& fit,
                                                           const LoadPlace& place);

/// What was measured before Ctrl-C is judged and written down, which takes its time where there are millions of
/// requests.
void set_grace_for(const serving::LoadOutcome& outcome);

/// The plan of a step with the settings that are the same for all.
[[nodiscard]] Result<serving::LoadPlan> load_plan_of(Context& context, const LoadRequest& request, const LoadStep& step,
                                                     const serving::TokenFit& fit);

}  // namespace warpmark::apps
