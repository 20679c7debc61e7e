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

}  // namespace warpmark::exchange
