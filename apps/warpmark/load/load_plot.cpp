// `warpmark load plot` and `warpmark load excel`: an experiment folder as plots and as a workbook.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "exchange/load/plots.h"
#include "exchange/load/workbook.h"
#include "report/draw/svg.h"
#include "report/formats/html.h"
#include "warpmark/load/load.h"
#include "warpmark/sessions/session_output.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

/// The folder's own runs, or those of the folders in it.
Result<std::vector<exchange::Experiment>> experiments_of(const std::string& folder) {
  if (folder.empty()) {
    return usage_error("which experiments? --experiments-folder DIR", "one experiment, or a folder of several");
  }
  std::vector<exchange::Experiment> experiments;
  auto one = exchange::read_experiment(folder);
  if (one.ok()) {
    experiments.push_back(std::move(*one));
    return experiments;
  }
  std::vector<fs::path> inside;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) inside.push_back(entry.path());
  }
  std::sort(inside.begin(), inside.end());
  for (const auto& path : inside) {
    auto read = exchange::read_experiment(path.string());
    if (read.ok()) experiments.push_back(std::move(*read));
  }
  if (experiments.empty()) return one.error();
  return experiments;
}

Result<std::vector<exchange::PlotSpec>> specs_of(const ChartRequest& request) {
  const std::string& given = request.own_plots;
  if (!given.empty()) {
    if (!request.preset.empty()) return usage_error("give --preset or --plot-config, not both");
    std::string text = given;
    if (!trim(given).starts_with("{")) {
      WM_ASSIGN(text, read_file(given, 16 << 20));
    }
    WM_ASSIGN(const Json json, parse_json(text, "--plot-config"));
    return exchange::plot_specs_of(json, "--plot-config");
  }
  const std::string name = request.preset.empty() ? "2x4_default" : request.preset;
  std::vector<std::string> names;
  for (const auto& preset : exchange::plot_presets()) {
    if (name == preset.name) return preset.specs();
    names.push_back(preset.name);
  }
  return usage_error("there is no preset '" + name + "'", "presets: " + join(names, ", "));
}

/// "plot-03-ttft-over-load".
std::string file_stem(std::size_t index, const std::string& title) {
  std::string stem = fmt::format("plot-{:02}-", index + 1);
  for (const char c : title) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool upper = c >= 'A' && c <= 'Z';
    if (plain || upper) {
      stem += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (stem.back() != '-') {
      stem += '-';
    }
  }
  while (stem.back() == '-') stem.pop_back();
  return stem.substr(0, 80);
}

Status write_png(const std::string& svg, const fs::path& path) {
  const fs::path source = temporary_for(path.string() + ".svg");
  WM_TRY(write_file(source, report::flat_svg(svg)));
  const auto made = run_process({"rsvg-convert", "--width=1360", "--background-color=white", "--format=png",
                                 "--output=" + path.string(), source.string()},
                                {.deadline_s = 60});
  std::error_code ignored;
  fs::remove(source, ignored);
  if (!made.ok()) {
    return environment_error("PNG needs rsvg-convert: " + made.error().what,
                             "apt install librsvg2-bin; or --format svg or html");
  }
  if (made->exit_code != 0) return environment_error("rsvg-convert failed: " + made->err);
  return {};
}

Status write_plots(Context& context, const std::vector<Plot>& plots, const std::string& format, const fs::path& out,
                   const std::string& folder) {
  if (format == "html") {
    Report page{.title = "Load on inference servers", .subtitle = "", .sections = {}};
    for (const auto& plot : plots) page.sections.push_back({plot.title, {plot}});
    WM_TRY(write_file(out, report::render_html(page)));
    context.out << fmt::format("{} plots in {}; open it in a browser\n", plots.size(), out.string());
    return {};
  }
  WM_TRY(make_named_folder(out));
  std::vector<std::string> files;
  for (std::size_t i = 0; i < plots.size(); ++i) {
    const fs::path file = out / (file_stem(i, plots[i].title) + "." + format);
    const std::string svg = report::render_svg(plots[i]);
    WM_TRY(format == "png" ? write_png(svg, file) : write_file(file, report::standalone_svg(svg)));
    files.push_back(file.string());
  }
  context.out << fmt::format("{} plots:\n  {}\nAll on one page:\n  warpmark load plot --experiments-folder {}\n",
                             files.size(), join(files, "\n  "), shell_quote(folder));
  return {};
}

}  // namespace

Result<int> load_plot(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto request, read_options<ChartRequest>(options));
  const std::string& folder = request.experiments;
  WM_ASSIGN(const auto experiments, experiments_of(folder));
  if (request.lists_fields) {
    std::vector<std::string> fields;
    for (const auto& experiment : experiments) {
      for (auto& field : exchange::numeric_fields(experiment)) fields.push_back(std::move(field));
    }
    std::sort(fields.begin(), fields.end());
    fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
    for (const auto& field : fields) context.out << field << '\n';
    return kSuccess;
  }
  WM_ASSIGN(const auto specs, specs_of(request));
  exchange::PlotOptions plot{
      .group_key = request.group_key, .time_unit = request.time_unit, .leave_out_missing = request.own_plots.empty()};
  WM_ASSIGN(plot.time_scale, exchange::time_scale(plot.time_unit));
  if (!request.filter.empty()) {
    WM_ASSIGN(plot.filter, parse_json(request.filter, "--filter-criteria"));
    if (!plot.filter.is_object())
      return usage_error("--filter-criteria must be a JSON object", R"({"server_engine": "vLLM"})");
  }
  WM_ASSIGN(const auto plots, exchange::make_plots(experiments, specs, plot));
  if (request.only_checks) {
    context.out << fmt::format("{} plots of {} experiments are right\n", plots.size(), experiments.size());
    return kSuccess;
  }
  const bool page = request.format == "html";
  fs::path out = request.out;
  if (out.empty()) out = page ? fs::path(folder) / "plots.html" : fs::path(folder);
  if (page) WM_TRY(check_writable(out));
  WM_TRY(write_plots(context, plots, request.format, out, folder));
  return kSuccess;
}

Result<int> load_excel(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto request, read_options<ChartRequest>(options));
  const std::string& folder = request.experiment;
  if (folder.empty())
    return usage_error("which experiment? --experiment-folder DIR", "as --experiment-folder-name made it");
  WM_ASSIGN(const auto experiment, exchange::read_experiment(folder));
  std::string file = request.workbook;
  if (file.empty()) {
    const auto name = std::filesystem::path(std::filesystem::weakly_canonical(folder)).filename().string();
    file = (std::filesystem::path(folder) / (name + "_summary.xlsx")).string();
  }
  if (!file.ends_with(".xlsx")) file += ".xlsx";
  WM_TRY(check_writable(file));
  WM_TRY(
      exchange::write_workbook(file, experiment, {.percentile = request.percentile, .time_unit = request.time_unit}));
  context.out << file << '\n';
  return kSuccess;
}

}  // namespace warpmark::apps
