// One load by several clients: mpirun or srun starts this program on other processors and hosts, each prepares the same
// plan, takes its part of it, says over a connection to here that it is ready, starts when all are, and sends back
// every request it measured.
#pragma once

#include "base/result.h"
#include "loadtest/prepare.h"
#include "serving/client/prepare_load.h"

namespace warpmark::loadtest {

[[nodiscard]] Result<serving::LoadOutcome> run_clients(const Surroundings& around, const PreparedLoad& request,
                                                       const LoadStep& step, const serving::TokenFit& fit,
                                                       const serving::LoadPlan& plan);

/// Whether run_clients started this process; then it does load_as_client and nothing else.
[[nodiscard]] bool is_load_client(const Surroundings& around);
[[nodiscard]] Status load_as_client(const LoadRequest& request, const Surroundings& around);

}  // namespace warpmark::loadtest
