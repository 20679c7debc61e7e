// The actions of `warpmark load`, a file each.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "serving/results/load_result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct LoadRequest;
struct LoadServerRequest;

[[nodiscard]] Result<int> load_run(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> load_server(Context& context, const ParsedOptions& options);
/// load run --workload: a built-in network instead of a server.
[[nodiscard]] Result<int> load_workload(Context& context, const ParsedOptions& options, const LoadRequest& request);
/// load server --network: a real one.
[[nodiscard]] Result<int> load_network(Context& context, const ParsedOptions& options,
                                       const LoadServerRequest& request);
[[nodiscard]] Result<int> load_selftest(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> load_excel(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> load_plot(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> load_compare(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> load_tokens(Context& context, const ParsedOptions& options);

/// Of the actions excel and plot.
struct ChartRequest {
  std::string experiment, workbook, percentile = "mean", time_unit = "s";
  std::string experiments, preset, own_plots, group_key = "traffic_scenario", filter, format = "html", out;
  bool lists_fields = false, only_checks = false;
};

struct LoadCompareRequest {
  std::string format = "text";
  bool fails_if_worse = false;
};

/// "8 users", "25 requests/s".
[[nodiscard]] std::string level_text(const serving::ScenarioResult& result);

}  // namespace warpmark::apps
