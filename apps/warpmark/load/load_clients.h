// One load by several clients: mpirun or srun starts this program on other processors and hosts, each prepares the same
// plan, takes its part of it, says over a connection to here that it is ready, starts when all are, and sends back
// every request it measured.
#pragma once

#include "base/result.h"
#include "serving/client/prepare_load.h"
#include "warpmark/command.h"
#include "warpmark/load/load_request.h"

namespace warpmark::apps {

[[nodiscard]] Result<serving::LoadOutcome> run_clients(Context& context, const LoadRequest& request,
                                                       const LoadStep& step, const serving::TokenFit& fit,
                                                       const serving::LoadPlan& plan);

/// Whether run_clients started this process; then it does load_as_client and nothing else.
[[nodiscard]] bool is_load_client(const Context& context);
[[nodiscard]] Result<int> load_as_client(Context& context, const LoadRequest& request);

}  // namespace warpmark::apps
