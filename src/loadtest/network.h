// Built-in networks in the user's PyTorch that `warpmark load` puts to work: behind a port, or asked in this process.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "loadtest/request.h"
#include "model/params.h"
#include "workloads/models/model_workers.h"

namespace warpmark::loadtest {

struct StartedModel {
  std::string name;
  Params params;
  std::unique_ptr<workloads::ModelWorkers> workers;  ///< one rank, prepared
};

/// The network as requested, and `defaults` where that says nothing. Usage error for a workload that is no
/// network; other errors as of ModelWorkers.
[[nodiscard]] Result<StartedModel> start_model(const NetworkRequest& request, const std::string& name,
                                               const Overrides& defaults, const std::atomic<bool>& interrupted);

}  // namespace warpmark::loadtest
