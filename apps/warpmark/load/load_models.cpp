#include "warpmark/load/load_models.h"

#include <fmt/format.h>

#include <ostream>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "warpmark/load/load.h"
#include "warpmark/load/load_server.h"
#include "workloads/catalog.h"
#include "workloads/models/model_shape.h"

namespace warpmark::apps {
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

Result<StartedModel> start_model(Context& context, const NetworkRequest& request, const std::string& name,
                                 const Overrides& defaults) {
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
  WM_ASSIGN(model.workers, workloads::ModelWorkers::start({.python = model.params.text("python"),
                                                           .device = request.device,
                                                           .interrupted = &context.interrupted}));
  WM_TRY(model.workers->ask({{"ask", "hello"}}, kStart_s));
  WM_TRY(model.workers->prepare(workloads::prepare_question(name, model.params, shape, 1), kStart_s));
  return model;
}

Result<int> load_network(Context& context, const ParsedOptions& options, const LoadServerRequest& request) {
  constexpr double kListen_s = 600;
  const auto& name = request.network;
  WM_ASSIGN(const auto network, read_options<NetworkRequest>(options));
  WM_ASSIGN(const auto model, start_model(context, network, name, {{"pass", "decode"}, {"batch", "1"}}));
  if (model.params.text("pass") != "decode") return usage_error("a server decodes", "leave out pass");
  const auto& workers = model.workers;
  const std::string& host = request.server.host;
  WM_ASSIGN(const Json served,
            workers->ask({{"ask", "serve"}, {"host", host}, {"port", request.server.port}}, kListen_s));
  WM_ASSIGN(const double listens, workloads::answered_number(served, "port"));
  context.out << fmt::format("listening on http://{}:{:.0f}, model {}; Ctrl-C ends it\n", host, listens, name)
              << std::flush;
  const std::int64_t began_ns = monotonic_ns();
  while (!context.interrupted.load()) {
    // A worker that is gone closes its channel; it says nothing otherwise.
    if (workers->has_answer(0.05)) return environment_error("the worker of " + name + " ended");
    if (request.duration_s > 0 && static_cast<double>(monotonic_ns() - began_ns) * 1e-9 >= request.duration_s) break;
  }
  return kSuccess;
}

}  // namespace warpmark::apps
