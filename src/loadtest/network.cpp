#include "loadtest/network.h"

#include "base/json.h"
#include "base/text.h"
#include "workloads/catalog.h"
#include "workloads/models/model_shape.h"

namespace warpmark::loadtest {
namespace {

constexpr double kStart_s = 600;  // importing PyTorch, drawing the network

bool is_network(const measure::Workload& workload) {
  for (const auto& spec : workload.params) {
    if (std::string_view(spec.name) == "python") return true;
  }
  return false;
}

std::string network_names() {
  std::vector<std::string> names;
  for (const auto* workload : workloads::catalog()) {
    if (is_network(*workload)) names.emplace_back(workload->id);
  }
  return join(names, ", ");
}

}  // namespace

Result<StartedModel> start_model(const NetworkRequest& request, const std::string& name, const Overrides& defaults,
                                 const std::atomic<bool>& interrupted) {
  const auto* workload = find_in(workloads::catalog(), name);
  if (workload == nullptr || !is_network(*workload)) {
    return usage_error("'" + name + "' is no network", "networks: " + network_names());
  }
  Overrides overrides{{"preset", "tiny"}};
  overrides.insert(overrides.end(), defaults.begin(), defaults.end());
  overrides.insert(overrides.end(), request.set.begin(), request.set.end());
  StartedModel model{.name = name, .params = {}, .workers = nullptr};
  WM_ASSIGN(model.params, resolve_params(workload->params, overrides));
  WM_TRY(workload->cost(*workload, model.params));
  if (model.params.text("pass") == "train" || model.params.integer("ranks") != 1) {
    return usage_error("a network under load infers, with one rank", "leave out pass and ranks");
  }
  WM_ASSIGN(const auto shape, workloads::model_shape(name, model.params));
  WM_ASSIGN(model.workers,
            workloads::ModelWorkers::start(
                {.python = model.params.text("python"), .device = request.device, .interrupted = &interrupted}));
  WM_TRY(model.workers->ask({{"ask", "hello"}}, kStart_s));
  WM_TRY(model.workers->prepare(workloads::prepare_question(name, model.params, shape, 1), kStart_s));
  return model;
}

}  // namespace warpmark::loadtest
