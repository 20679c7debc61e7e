// `warpmark load server --network gpt2`: a real network in the user's PyTorch behind the interface of inference
// servers.
#include <fmt/format.h>

#include <ostream>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "warpmark/load/load.h"
#include "warpmark/load/load_models.h"

namespace warpmark::apps {

Result<int> load_network(Context& context, const ParsedOptions& options, std::uint16_t port) {
  constexpr double kListen_s = 600;
  const auto name = options.get("--network");
  if (name != "gpt2" && name != "llama") return usage_error("--network cannot be '" + name + "'", "gpt2 or llama");
  WM_ASSIGN(const auto model, start_model(context, options, name, {{"pass", "decode"}, {"batch", "1"}}));
  if (model.params.text("pass") != "decode") return usage_error("a server decodes", "leave out pass");
  const auto& workers = model.workers;
  const std::string host = options.get("--host", "127.0.0.1");
  WM_ASSIGN(const Json served, workers->ask({{"ask", "serve"}, {"host", host}, {"port", port}}, kListen_s));
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
