#include "warpmark/ab/workload_command.h"

#include <algorithm>
#include <optional>

#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "warpmark/sessions/result_files.h"
#include "workloads/catalog.h"

namespace warpmark::apps {
namespace {

/// Of the case that gave no result.
std::optional<Error> failure_in(const std::filesystem::path& results) {
  const auto session = read_one_session(results.string());
  if (!session.ok()) return std::nullopt;
  const auto failed = std::find_if(session->runs.begin(), session->runs.end(),
                                   [](const Run& run) { return run.outcome == Outcome::error; });
  if (failed == session->runs.end()) return std::nullopt;
  return Error{failed->fault.value_or(ErrorKind::data), failed->reason, failed->hint};
}

}  // namespace

Result<validate::CommandSpec> workload_command(const ParsedOptions& options, const measure::Config& config,
                                               const std::filesystem::path& results) {
  const std::string name = options.positionals().front();
  if (find_in(workloads::catalog(), name) == nullptr) {
    const auto ids = ids_of(workloads::catalog());
    const auto meant = nearest(name, ids);
    return usage_error("there is no workload '" + name + "'",
                       meant.empty() ? "see: warpmark list workloads" : "did you mean '" + meant + "'?");
  }
  WM_ASSIGN(const auto self, own_executable());
  validate::CommandSpec spec;
  spec.run = {self.string(),
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
  std::error_code none;
  std::filesystem::remove(results, none);  // what an earlier comparison left says nothing of this one
  spec.why_failed = [results] { return failure_in(results); };
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
