// Plots of experiments: what genai-bench's presets and plot configurations ask for, as plots of model/report.h, which
// any format draws. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "exchange/load/experiment.h"
#include "model/report.h"

namespace warpmark::exchange {

/// One plot: fields are dotted paths of a run's aggregated metrics.
struct PlotSpec {
  std::string title;
  std::string x_field;
  struct Line {
    std::string field;
    std::string label;  ///< of the legend; empty: the group alone
  };
  std::vector<Line> lines;
  std::string x_label;
  std::string y_label;
  bool joined = true;  ///< "line"; else "scatter"
  bool bars = false;   ///< "bar": drawn as marks over the levels
  bool logarithmic = false;
};

struct PlotPreset {
  const char* name;
  const char* summary;
  std::vector<PlotSpec> (*specs)();
};
/// 2x4_default, simple_2x2, multi_line_latency, single_scenario_analysis.
[[nodiscard]] const std::vector<PlotPreset>& plot_presets();

/// {"plots": [{"title", "x_field", "y_field" | "y_fields": [..], "x_label", "y_label", "plot_type", "y_scale"}]};
/// "layout" and "position" are accepted: plots stand one below the other. Data error that names the plot and the key.
[[nodiscard]] Result<std::vector<PlotSpec>> plot_specs_of(const Json& config, const std::string& name);

struct PlotOptions {
  std::string group_key = "traffic_scenario";  ///< or a metadata field, or "none"
  Json filter = Json::object();                ///< metadata field: value, or list of values
  double time_scale = 1;                       ///< from seconds
  std::string time_unit = "s";
  bool leave_out_missing = false;  ///< plots of fields that no run has, such as the TTFT of embeddings
};

/// The plots that have a point. Usage error for a field that no run has, naming near ones, and for a group key that no
/// experiment has.
[[nodiscard]] Result<std::vector<Plot>> make_plots(const std::vector<Experiment>& experiments,
                                                   const std::vector<PlotSpec>& specs, const PlotOptions& options);

}  // namespace warpmark::exchange
