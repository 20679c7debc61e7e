// The actions of `warpmark load`, a file each.
#pragma once

#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

[[nodiscard]] Result<int> load_run(Context& context, const ParsedOptions& options);
[[nodiscard]] Result<int> load_server(Context& context, const ParsedOptions& options);
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

}  // namespace warpmark::apps
