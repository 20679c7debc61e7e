#include "exchange/load/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace warpmark::exchange {
namespace {

Error bad_plot(const std::string& name, std::size_t index, const std::string& what) {
  return data_error(fmt::format("{}, plot {}: {}", name, index + 1, what));
}

Result<std::string> text_at(const Json& json, const char* key, const std::string& name, std::size_t index) {
  const auto found = json.find(key);
  if (found == json.end()) return std::string();
  if (!found->is_string()) return bad_plot(name, index, fmt::format("\"{}\" is no text", key));
  return found->get<std::string>();
}

Status take_lines(const Json& json, const std::string& name, std::size_t index, PlotSpec& spec) {
  WM_ASSIGN(const std::string single, text_at(json, "y_field", name, index));
  if (!single.empty()) spec.lines.push_back({single, ""});
  const auto many = json.find("y_fields");
  if (many == json.end()) {
    return single.empty() ? bad_plot(name, index, "has neither \"y_field\" nor \"y_fields\"") : Status();
  }
  if (!many->is_array()) return bad_plot(name, index, "\"y_fields\" is no list");
  for (const auto& line : *many) {
    if (!line.is_object()) return bad_plot(name, index, "\"y_fields\" holds something else than objects");
    WM_ASSIGN(const std::string field, text_at(line, "field", name, index));
    WM_ASSIGN(const std::string label, text_at(line, "label", name, index));
    if (field.empty()) return bad_plot(name, index, "an entry of \"y_fields\" has no \"field\"");
    spec.lines.push_back({field, label.empty() ? field : label});
  }
  return {};
}

Result<PlotSpec> spec_of(const Json& json, const std::string& name, std::size_t index) {
  static const std::vector<std::string> kKeys{"title",   "x_field", "y_field",   "y_fields", "x_label",
                                              "y_label", "y_scale", "plot_type", "position"};
  if (!json.is_object()) return bad_plot(name, index, "is no object");
  for (const auto& [key, unused] : json.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) continue;
    const std::string meant = nearest(key, kKeys);
    return bad_plot(name, index,
                    fmt::format("there is no key \"{}\"{}", key,
                                meant.empty() ? "; keys: " + join(kKeys, ", ") : "; did you mean \"" + meant + "\"?"));
  }
  PlotSpec spec;
  WM_ASSIGN(spec.title, text_at(json, "title", name, index));
  WM_ASSIGN(spec.x_field, text_at(json, "x_field", name, index));
  if (spec.x_field.empty()) return bad_plot(name, index, "has no \"x_field\"");
  WM_TRY(take_lines(json, name, index, spec));
  WM_ASSIGN(spec.x_label, text_at(json, "x_label", name, index));
  WM_ASSIGN(spec.y_label, text_at(json, "y_label", name, index));
  if (spec.title.empty()) spec.title = fmt::format("{} over {}", spec.lines.front().field, spec.x_field);
  if (spec.x_label.empty()) spec.x_label = spec.x_field;
  if (spec.y_label.empty()) spec.y_label = spec.lines.front().field;
  WM_ASSIGN(const std::string type, text_at(json, "plot_type", name, index));
  if (!type.empty() && type != "line" && type != "scatter" && type != "bar")
    return bad_plot(name, index, "\"plot_type\" is '" + type + "': line, scatter or bar");
  spec.joined = type.empty() || type == "line";
  spec.bars = type == "bar";
  WM_ASSIGN(const std::string scale, text_at(json, "y_scale", name, index));
  spec.logarithmic = scale == "log";
  return spec;
}

bool passes(const Experiment& experiment, const ExperimentRun& run, const Json& filter) {
  for (const auto& [key, wanted] : filter.items()) {
    const auto found = experiment.metadata.find(key);
    const Json value = key == "traffic_scenario"            ? Json(run.scenario)
                       : found == experiment.metadata.end() ? Json()
                                                            : *found;
    const bool same =
        wanted.is_array() ? std::find(wanted.begin(), wanted.end(), value) != wanted.end() : wanted == value;
    if (!same) return false;
  }
  return true;
}

std::string group_of(const Experiment& experiment, const ExperimentRun& run, const std::string& key) {
  if (key == "none") return "all";
  if (key == "traffic_scenario" || key == "scenario") return run.scenario;
  const std::string value = metadata_text(experiment, key);
  return value.empty() ? key + " not reported" : value;
}

Status check_fields(const std::vector<Experiment>& experiments, const std::vector<PlotSpec>& specs) {
  std::vector<std::string> known;
  for (const auto& experiment : experiments) {
    const auto fields = numeric_fields(experiment);
    known.insert(known.end(), fields.begin(), fields.end());
  }
  const auto check = [&](const std::string& field) -> Status {
    if (std::find(known.begin(), known.end(), field) != known.end()) return {};
    const std::string meant = nearest(field, known);
    return usage_error(
        "no run has the field '" + field + "'",
        meant.empty() ? "--list-fields shows all" : "did you mean '" + meant + "'? --list-fields shows all");
  };
  for (const auto& spec : specs) {
    WM_TRY(check(spec.x_field));
    for (const auto& line : spec.lines) WM_TRY(check(line.field));
  }
  return {};
}

/// A time axis is in the unit that was asked for.
std::string axis_title(const std::string& label, const std::string& field, const PlotOptions& options) {
  return is_time_field(field) ? fmt::format("{} ({})", label, options.time_unit) : label;
}

constexpr const char* kOutput = "mean_output_throughput_tokens_per_s";
constexpr const char* kTotal = "mean_total_tokens_throughput_tokens_per_s";
constexpr const char* kSpeed = "stats.output_inference_speed.mean";

PlotSpec plot(const char* title, const char* x, const char* y, const char* x_label, const char* y_label,
              bool logarithmic = false) {
  return {.title = title,
          .x_field = x,
          .lines = {{y, ""}},
          .x_label = x_label,
          .y_label = y_label,
          .logarithmic = logarithmic};
}

std::vector<PlotSpec> two_by_four() {
  std::vector<PlotSpec> specs{
      plot("Output speed per request over output throughput", kOutput, kSpeed, "output tokens/s of the server",
           "tokens/s of one answer"),
      plot("TTFT over output throughput", kOutput, "stats.ttft.mean", "output tokens/s of the server", "mean TTFT",
           true),
      plot("Mean end to end over requests/s", "requests_per_second", "stats.e2e_latency.mean", "requests/s",
           "mean end to end"),
      plot("Failed requests over load", "num_concurrency", "num_error_requests", "concurrency", "failed requests"),
      plot("Output speed per request over total throughput", kTotal, kSpeed, "tokens/s of the server, in and out",
           "tokens/s of one answer"),
      plot("TTFT over total throughput", kTotal, "stats.ttft.mean", "tokens/s of the server, in and out", "mean TTFT",
           true),
      plot("p90 end to end over requests/s", "requests_per_second", "stats.e2e_latency.p90", "requests/s",
           "p90 end to end"),
      plot("p99 end to end over requests/s", "requests_per_second", "stats.e2e_latency.p99", "requests/s",
           "p99 end to end")};
  specs[3].bars = true;
  specs[3].joined = false;
  return specs;
}

std::vector<PlotSpec> simple() {
  return {plot("Output throughput over load", "num_concurrency", kOutput, "concurrency", "output tokens/s"),
          plot("TTFT over load", "num_concurrency", "stats.ttft.mean", "concurrency", "mean TTFT"),
          plot("End to end over load", "num_concurrency", "stats.e2e_latency.mean", "concurrency", "mean end to end"),
          plot("Requests/s over load", "num_concurrency", "requests_per_second", "concurrency", "requests/s")};
}

std::vector<PlotSpec> percentiles() {
  const auto lines = [](const char* title, const std::string& stat, const char* label) {
    return PlotSpec{.title = title,
                    .x_field = "num_concurrency",
                    .lines = {{"stats." + stat + ".p50", "p50"},
                              {"stats." + stat + ".p90", "p90"},
                              {"stats." + stat + ".p99", "p99"}},
                    .x_label = "concurrency",
                    .y_label = label,
                    .logarithmic = true};
  };
  return {lines("TTFT percentiles", "ttft", "TTFT"), lines("End to end percentiles", "e2e_latency", "end to end"),
          lines("Time per output token percentiles", "tpot", "TPOT")};
}

std::vector<PlotSpec> single() {
  std::vector<PlotSpec> specs = percentiles();
  specs.push_back({.title = "Throughput over load",
                   .x_field = "num_concurrency",
                   .lines = {{"mean_input_throughput_tokens_per_s", "in"}, {kOutput, "out"}, {kTotal, "both"}},
                   .x_label = "concurrency",
                   .y_label = "tokens/s"});
  specs.push_back(plot("Requests/s over load", "num_concurrency", "requests_per_second", "concurrency", "requests/s"));
  return specs;
}

}  // namespace

Result<std::vector<PlotSpec>> plot_specs_of(const Json& config, const std::string& name) {
  const auto plots = config.is_object() ? config.find("plots") : config.end();
  if (!config.is_object() || plots == config.end() || !plots->is_array() || plots->empty()) {
    return data_error(name + " has no list \"plots\"",
                      R"({"plots": [{"x_field": "num_concurrency", "y_field": "stats.ttft.p99"}]})");
  }
  std::vector<PlotSpec> specs;
  for (std::size_t i = 0; i < plots->size(); ++i) {
    WM_ASSIGN(auto spec, spec_of((*plots)[i], name, i));
    specs.push_back(std::move(spec));
  }
  return specs;
}

Result<std::vector<Plot>> make_plots(const std::vector<Experiment>& experiments, const std::vector<PlotSpec>& specs,
                                     const PlotOptions& options) {
  if (!options.leave_out_missing) WM_TRY(check_fields(experiments, specs));
  const bool has_key =
      options.group_key == "none" || options.group_key == "traffic_scenario" || options.group_key == "scenario" ||
      std::any_of(experiments.begin(), experiments.end(),
                  [&](const auto& experiment) { return experiment.metadata.contains(options.group_key); });
  if (!has_key) {
    return usage_error("no experiment has '" + options.group_key + "' to group by",
                       "a field of experiment_metadata.json, traffic_scenario, or none");
  }
  std::vector<Plot> plots;
  for (const auto& spec : specs) {
    Plot plot{.title = spec.title};
    plot.x = {.title = axis_title(spec.x_label, spec.x_field, options), .unit = ""};
    plot.y = {.title = axis_title(spec.y_label, spec.lines.front().field, options),
              .unit = "",
              .logarithmic = spec.logarithmic};
    for (const auto& line : spec.lines) {
      std::map<std::string, Series> groups;
      for (const auto& experiment : experiments) {
        for (const auto& run : experiment.runs) {
          if (!passes(experiment, run, options.filter)) continue;
          const auto x = field_of(run, spec.x_field), y = field_of(run, line.field);
          if (!x || !y) continue;
          const std::string group = group_of(experiment, run, options.group_key);
          Series& series = groups[group];
          series.name = line.label.empty() ? group : group == "all" ? line.label : group + ", " + line.label;
          series.line = spec.joined;
          series.points.emplace_back(*x * (is_time_field(spec.x_field) ? options.time_scale : 1),
                                     *y * (is_time_field(line.field) ? options.time_scale : 1));
        }
      }
      for (auto& [group, series] : groups) plot.series.push_back(std::move(series));
    }
    if (!plot.series.empty()) plots.push_back(std::move(plot));
  }
  if (plots.empty()) return usage_error("no run passes the filter", "--filter-criteria leaves nothing to plot");
  return plots;
}

const std::vector<PlotPreset>& plot_presets() {
  static const std::vector<PlotPreset> kPresets{
      {"2x4_default", "speed, TTFT, end to end and errors over throughput and load", two_by_four},
      {"simple_2x2", "throughput, TTFT, end to end and requests/s over load", simple},
      {"multi_line_latency", "p50, p90, p99 of TTFT, end to end and TPOT over load", percentiles},
      {"single_scenario_analysis", "percentiles and throughput of a scenario over load", single}};
  return kPresets;
}

}  // namespace warpmark::exchange
