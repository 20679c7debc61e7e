#include "warpmark/arms/workload_command.h"

#include "base/text.h"
#include "base/units.h"
#include "workloads/catalog.h"

namespace warpmark::apps {

Result<validate::CommandSpec> workload_command(const ParsedOptions& options, const measure::Config& config,
                                               const std::filesystem::path& results) {
  const std::string name = options.positionals().front();
  if (find_in(workloads::catalog(), name) == nullptr) {
    const auto ids = ids_of(workloads::catalog());
    const auto meant = nearest(name, ids);
    return usage_error("there is no workload '" + name + "'",
                       meant.empty() ? "see: warpmark list workloads" : "did you mean '" + meant + "'?");
  }
  validate::CommandSpec spec;
  spec.run = {std::filesystem::read_symlink("/proc/self/exe").string(),
              "run",
              name,
              "--rounds",
              "1",
              "--no-store",
              "--no-ceilings",
              "--device",
              options.get("--device", "cpu"),
              "--json",
              results.string()};
  for (const auto& [key, value] : config) {
    spec.run.emplace_back("--set");
    spec.run.push_back(key + "=" + value);
  }
  if (options.has("--timeout")) {
    WM_ASSIGN(spec.timeout_s, parse_duration_s(options.get("--timeout")));
  }
  spec.metrics.push_back({.name = "time",
                          .unit = "s",
                          .source = validate::MetricSource::json,
                          .expression = "runs.0.metrics.0.median",
                          .file = results.string()});
  return spec;
}

}  // namespace warpmark::apps
