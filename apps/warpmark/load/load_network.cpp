// `warpmark load server --network gpt2`: a real network in the user's PyTorch behind the interface of inference
// servers.
#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "warpmark/load/load.h"
#include "workloads/catalog.h"
#include "workloads/models/model_question.h"
#include "workloads/models/model_workers.h"

namespace warpmark::apps {
namespace {

constexpr double kStart_s = 600;  // importing PyTorch, drawing the network

/// The parameters of `warpmark run NETWORK`, as --set gives them; one prompt at a time.
Result<Params> params_of(const measure::Workload& workload, const ParsedOptions& options) {
  Overrides overrides{{"preset", "tiny"}, {"pass", "decode"}, {"batch", "1"}};
  for (const auto& text : options.all("--set")) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) return usage_error("--set " + text + " is not of the form name=value");
    overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  WM_ASSIGN(auto params, resolve_params(workload.params, overrides));
  WM_TRY(workload.cost(workload, params));
  if (params.text("pass") != "decode" || params.integer("ranks") != 1) {
    return usage_error("a server decodes, with one rank", "leave out pass and ranks");
  }
  return params;
}

}  // namespace

Result<int> load_network(Context& context, const ParsedOptions& options, std::uint16_t port) {
  const auto name = options.get("--network");
  const auto* workload = find_in(workloads::catalog(), name);
  if (workload == nullptr || (name != "gpt2" && name != "llama")) {
    return usage_error("--network cannot be '" + name + "'", "gpt2 or llama");
  }
  WM_ASSIGN(const auto params, params_of(*workload, options));
  WM_ASSIGN(const auto shape, workloads::model_shape(name, params));
  const std::string device = options.get("--device", "cpu");
  WM_ASSIGN(const auto workers,
            workloads::ModelWorkers::start(
                {.words = {params.text("python")}, .device = device, .interrupted = &context.interrupted}));
  WM_TRY(workers->ask({{"ask", "hello"}}, kStart_s));
  WM_TRY(workers->prepare(workloads::prepare_question(name, params, shape, 1), kStart_s));
  const std::string host = options.get("--host", "127.0.0.1");
  WM_ASSIGN(const Json served, workers->ask({{"ask", "serve"}, {"host", host}, {"port", port}}, kStart_s));
  WM_ASSIGN(const double listens, workloads::answered_number(served, "port"));
  context.out << fmt::format("listening on http://{}:{:.0f}, model {}; Ctrl-C ends it\n", host, listens, name)
              << std::flush;
  double duration_s = 0;
  if (options.has("--duration")) {
    WM_ASSIGN(duration_s, parse_duration_s(options.get("--duration")));
  }
  const std::int64_t began_ns = monotonic_ns();
  while (!context.interrupted.load()) {
    // A worker that is gone closes its channel; it says nothing otherwise.
    if (workers->has_answer(0.05)) return environment_error("the worker of " + name + " ended");
    if (duration_s > 0 && static_cast<double>(monotonic_ns() - began_ns) * 1e-9 >= duration_s) break;
  }
  return kSuccess;
}

}  // namespace warpmark::apps
