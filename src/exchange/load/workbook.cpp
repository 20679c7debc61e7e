#include "exchange/load/workbook.h"

#include <fmt/format.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::exchange {
namespace {

constexpr double kLeastSpeed = 10;        // tokens/s of an answer: genai-bench's target
constexpr double kLeastThroughput = 100;  // tokens/s of embeddings
constexpr double kSaturated = 0.05;
constexpr lxw_row_t kMostRows = 1'048'576;
constexpr std::size_t kMostCellText = 32'767;
constexpr const char* kPercentileNames[] = {"mean", "p25", "p50", "p75", "p90", "p95", "p99"};

bool texts_of(const ExperimentRun& run) { return run.iteration_type == "num_concurrency"; }

/// Cells of one sheet, top to bottom. Columns get as wide as what is in them.
class Sheet {
 public:
  Sheet(lxw_workbook* book, const char* name, lxw_format* bold)
      : sheet_(workbook_add_worksheet(book, name)), bold_(bold) {}

  void header(const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) put_text(column(i), names[i], bold_);
    worksheet_freeze_panes(sheet_, row_ + 1, 0);
    ++row_;
  }
  void text(std::size_t at, const std::string& words) { put_text(column(at), words, nullptr); }
  void number(std::size_t at, std::optional<double> value) {
    if (!value) return;
    worksheet_write_number(sheet_, row_, column(at), *value, nullptr);
    widen(column(at), 12);
  }
  void json(std::size_t at, const Json& value) {
    if (value.is_null()) return;
    if (value.is_number()) return number(at, value.get<double>());
    text(at, value.is_string() ? value.get<std::string>() : dump_json(value, -1));
  }
  void next() { ++row_; }
  [[nodiscard]] bool full() const { return row_ + 1 >= kMostRows; }
  [[nodiscard]] lxw_row_t row() const { return row_; }
  [[nodiscard]] lxw_worksheet* get() const { return sheet_; }
  void set_widths() {
    for (const auto& [at, width] : widths_) worksheet_set_column(sheet_, at, at, width, nullptr);
  }
  void hide(std::size_t at) {
    lxw_row_col_options options{};
    options.hidden = LXW_TRUE;
    options.level = 1;
    worksheet_set_column_opt(sheet_, column(at), column(at), 12, nullptr, &options);
  }

 private:
  static lxw_col_t column(std::size_t at) { return static_cast<lxw_col_t>(at); }
  void put_text(lxw_col_t at, const std::string& words, lxw_format* format) {
    worksheet_write_string(sheet_, row_, at, words.substr(0, kMostCellText).c_str(), format);
    widen(at, static_cast<double>(std::min<std::size_t>(display_width(words), 60)) + 2);
  }
  void widen(lxw_col_t at, double width) { widths_[at] = std::max(widths_[at], width); }

  lxw_worksheet* sheet_;
  lxw_format* bold_;
  lxw_row_t row_ = 0;
  std::map<lxw_col_t, double> widths_;
};

struct Rows {
  std::string scenario;
  lxw_row_t first = 0;
  lxw_row_t last = 0;
};

class Workbook {
 public:
  Workbook(lxw_workbook* book, const Experiment& experiment, const WorkbookOptions& options, double scale)
      : book_(book), experiment_(experiment), options_(options), scale_(scale), bold_(workbook_add_format(book)) {
    format_set_bold(bold_);
  }

  void write() {
    write_summary();
    write_appendix();
    write_metadata();
    write_aggregated();
    write_steps();
    write_requests();
    write_charts();
  }

 private:
  [[nodiscard]] std::string gpu() const {
    const std::string type = metadata_text(experiment_, "server_gpu_type");
    return type.empty() ? "not reported" : type;
  }
  [[nodiscard]] std::string of_stat(const char* field) const {
    return fmt::format("stats.{}.{}", field, options_.percentile);
  }
  [[nodiscard]] std::string timed(const char* name) const {
    return fmt::format("{} {} ({})", options_.percentile, name, options_.time_unit);
  }

  void write_summary() {
    Sheet sheet(book_, "Summary", bold_);
    const bool texts = texts_of(experiment_.runs.front());
    sheet.header({"GPU Type", "Use Case",
                  texts ? fmt::format("Concurrency at target speed (>{:g} tokens/s)", kLeastSpeed)
                        : fmt::format("Batch Size at target throughput (>{:g} tokens/s)", kLeastThroughput),
                  "Total Throughput (tokens/min)"});
    for (const auto& usable : usable_levels(experiment_, options_.percentile)) {
      sheet.text(0, gpu());
      sheet.text(1, usable.scenario);
      if (usable.level) {
        sheet.number(2, static_cast<double>(*usable.level));
        sheet.number(3, usable.tokens_per_minute);
      } else {
        sheet.text(2, "N/A");
        sheet.text(3, "N/A");
      }
      sheet.next();
    }
    sheet.set_widths();
  }

  void write_appendix() {
    Sheet sheet(book_, "Appendix", bold_);
    const bool texts = texts_of(experiment_.runs.front());
    sheet.header({"GPU Type", "Use Case", texts ? "Concurrency" : "Batch Size", timed("TTFT"),
                  options_.percentile + " Output Inference Speed per Request (tokens/s)",
                  "Output Throughput of Server (tokens/s)", timed("E2E Latency"), "Requests per Second",
                  "Total Throughput (tokens/s)", "Error Rate", "p95 TTFT (" + options_.time_unit + ")",
                  "sd TTFT (" + options_.time_unit + ")", "p95 TPOT (" + options_.time_unit + ")",
                  "sd TPOT (" + options_.time_unit + ")", "p95 E2E Latency (" + options_.time_unit + ")",
                  "sd E2E Latency (" + options_.time_unit + ")"});
    for (const auto& run : experiment_.runs) {
      if (scenarios_.empty() || scenarios_.back().scenario != run.scenario) {
        scenarios_.push_back({run.scenario, sheet.row(), sheet.row()});
      }
      scenarios_.back().last = sheet.row();
      sheet.text(0, gpu());
      sheet.text(1, run.scenario);
      sheet.number(2, static_cast<double>(run.level));
      sheet.number(3, scaled(field_of(run, of_stat("ttft"))));
      sheet.number(4, field_of(run, of_stat("output_inference_speed")));
      sheet.number(5, field_of(run, "mean_output_throughput_tokens_per_s"));
      sheet.number(6, scaled(field_of(run, of_stat("e2e_latency"))));
      sheet.number(7, field_of(run, "requests_per_second"));
      sheet.number(8, field_of(run, "mean_total_tokens_throughput_tokens_per_s"));
      sheet.number(9, field_of(run, "error_rate"));
      constexpr const char* kSpread[] = {"stats.ttft.p95",    "stats.ttft.stddev",     "stats.tpot.p95",
                                         "stats.tpot.stddev", "stats.e2e_latency.p95", "stats.e2e_latency.stddev"};
      for (std::size_t i = 0; i < std::size(kSpread); ++i) sheet.number(10 + i, scaled(field_of(run, kSpread[i])));
      sheet.next();
    }
    sheet.set_widths();
    appendix_ = sheet.get();
  }

  void write_metadata() {
    Sheet sheet(book_, "Experiment Metadata", bold_);
    sheet.header({"Field", "Value"});
    for (const auto& [key, value] : experiment_.metadata.items()) {
      sheet.text(0, key);
      sheet.json(1, value);
      sheet.next();
    }
    sheet.set_widths();
  }

  void write_aggregated() {
    Sheet sheet(book_, "Aggregated Metrics for Each Run", bold_);
    std::vector<std::string> names;
    for (const auto& run : experiment_.runs) {
      for (const auto& [key, value] : run.aggregated.items()) {
        if (key == "stats" && value.is_object()) {
          for (const auto& [field, unused] : value.items()) add_name(names, "stats." + field);
        } else {
          add_name(names, key);
        }
      }
    }
    sheet.header(names);
    std::vector<bool> filled(names.size());
    for (const auto& run : experiment_.runs) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        const bool statistic = names[i].starts_with("stats.");
        const Json& from = statistic ? run.aggregated["stats"] : run.aggregated;
        const auto found = from.find(statistic ? names[i].substr(6) : names[i]);
        if (found == from.end() || found->is_null()) continue;
        Json value = *found;
        if (statistic && is_time_field(names[i] + ".mean") && value.is_object()) {
          for (auto& item : value) item = item.is_number() ? Json(item.get<double>() * scale_) : item;
        }
        sheet.json(i, value);
        filled[i] = true;
      }
      sheet.next();
    }
    sheet.set_widths();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!filled[i]) sheet.hide(i);
    }
  }

  /// The steps of sessions, which our own folders have: "ttft_turn_2" and so on. No sheet where there are none.
  void write_steps() {
    std::optional<Sheet> sheet;
    for (const auto& run : experiment_.runs) {
      for (int step = 1; field_of(run, fmt::format("stats.e2e_turn_{}.mean", step)); ++step) {
        if (!sheet) {
          sheet.emplace(book_, "Session Steps", bold_);
          std::vector<std::string> names{"Use Case", "Concurrency", "Step"};
          for (const char* metric : {"TTFT", "TPOT", "E2E Latency"}) {
            for (const char* statistic : {"mean", "sd", "p50", "p95"}) {
              names.push_back(fmt::format("{} {} ({})", statistic, metric, options_.time_unit));
            }
          }
          sheet->header(names);
        }
        sheet->text(0, run.scenario);
        sheet->number(1, static_cast<double>(run.level));
        sheet->number(2, step);
        std::size_t column = 3;
        for (const char* metric : {"ttft", "tpot", "e2e"}) {
          for (const char* statistic : {"mean", "stddev", "p50", "p95"}) {
            sheet->number(column++, scaled(field_of(run, fmt::format("stats.{}_turn_{}.{}", metric, step, statistic))));
          }
        }
        sheet->next();
      }
    }
    if (sheet) sheet->set_widths();
  }

  void write_requests() {
    Sheet sheet(book_, "Individual Request Metrics", bold_);
    std::vector<std::string> names{"scenario", experiment_.runs.front().iteration_type};
    for (const auto& run : experiment_.runs) {
      for (const auto& request : run.requests) {
        if (!request.is_object()) continue;
        for (const auto& [key, value] : request.items()) add_name(names, key);
      }
    }
    sheet.header(names);
    std::vector<bool> filled(names.size());
    std::int64_t left_out = 0;
    for (const auto& run : experiment_.runs) {
      for (const auto& request : run.requests) {
        if (!request.is_object()) continue;
        if (sheet.full()) {
          ++left_out;
          continue;
        }
        sheet.text(0, run.scenario);
        sheet.number(1, static_cast<double>(run.level));
        for (std::size_t i = 2; i < names.size(); ++i) {
          const auto found = request.find(names[i]);
          if (found == request.end() || found->is_null()) continue;
          filled[i] = true;
          const bool time = is_time_field("stats." + names[i] + ".mean") && found->is_number();
          time ? sheet.number(i, found->get<double>() * scale_) : sheet.json(i, *found);
        }
        sheet.next();
      }
    }
    if (left_out > 0) sheet.text(0, fmt::format("{} more requests have no room in a sheet", left_out));
    sheet.set_widths();
    for (std::size_t i = 2; i < names.size(); ++i) {
      if (!filled[i]) sheet.hide(i);
    }
  }

  struct ChartSpec {
    const char* title;
    lxw_col_t x, y;  ///< columns of the Appendix
    std::string x_name, y_name;
    bool logarithmic;
  };

  void write_charts() {
    lxw_worksheet* sheet = workbook_add_worksheet(book_, "Charts");
    const std::string level = texts_of(experiment_.runs.front()) ? "concurrency" : "batch size";
    const ChartSpec specs[] = {{"Output speed per request over the throughput of the server", 5, 4,
                                "output tokens/s of the server", "tokens/s of one answer", false},
                               {"Time to first token over the throughput of the server", 5, 3,
                                "output tokens/s of the server", timed("TTFT"), true},
                               {"End to end over requests per second", 7, 6, "requests/s", timed("E2E latency"), false},
                               {"Throughput over load", 2, 8, level, "tokens/s, in and out", false},
                               {"Time to first token over load", 2, 3, level, timed("TTFT"), true},
                               {"Errors over load", 2, 9, level, "share of requests", false}};
    for (std::size_t i = 0; i < std::size(specs); ++i) {
      const auto& spec = specs[i];
      lxw_chart* chart = workbook_add_chart(book_, LXW_CHART_SCATTER_STRAIGHT_WITH_MARKERS);
      chart_title_set_name(chart, spec.title);
      lxw_chart_font font{};
      font.size = 11;
      chart_title_set_name_font(chart, &font);
      for (const auto& rows : scenarios_) {
        lxw_chart_series* series = chart_add_series(chart, nullptr, nullptr);
        chart_series_set_categories(series, "Appendix", rows.first, spec.x, rows.last, spec.x);
        chart_series_set_values(series, "Appendix", rows.first, spec.y, rows.last, spec.y);
        chart_series_set_name(series, rows.scenario.c_str());
      }
      chart_axis_set_name(chart->x_axis, spec.x_name.c_str());
      chart_axis_set_name(chart->y_axis, spec.y_name.c_str());
      if (spec.logarithmic) chart_axis_set_log_base(chart->y_axis, 10);
      lxw_chart_options place{};
      place.x_scale = 1.3;
      place.y_scale = 1.3;
      worksheet_insert_chart_opt(sheet, static_cast<lxw_row_t>(i / 2 * 20), static_cast<lxw_col_t>(i % 2 * 10), chart,
                                 &place);
    }
  }

  static void add_name(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  [[nodiscard]] std::optional<double> scaled(std::optional<double> seconds) const {
    return seconds ? std::optional(*seconds * scale_) : std::nullopt;
  }

  lxw_workbook* book_;
  const Experiment& experiment_;
  const WorkbookOptions& options_;
  double scale_;
  lxw_format* bold_;
  lxw_worksheet* appendix_ = nullptr;
  std::vector<Rows> scenarios_;
};

}  // namespace

std::vector<UsableLevel> usable_levels(const Experiment& experiment, const std::string& percentile) {
  std::vector<UsableLevel> levels;
  double tokens_before = 0, requests_before = 0;
  bool saturated = false;
  for (const auto& run : experiment.runs) {
    if (levels.empty() || levels.back().scenario != run.scenario) {
      levels.push_back({.scenario = run.scenario, .level = std::nullopt});
      tokens_before = requests_before = 0;
      saturated = false;
    }
    const double tokens = field_of(run, "mean_total_tokens_throughput_tokens_per_s").value_or(0);
    const double requests = field_of(run, "requests_per_second").value_or(0);
    const auto grew = [](double now, double before) { return before == 0 || now > (1 + kSaturated) * before; };
    saturated = saturated || !(grew(tokens, tokens_before) || grew(requests, requests_before));
    tokens_before = tokens;
    requests_before = requests;
    const double speed =
        texts_of(run) ? field_of(run, "stats.output_inference_speed." + percentile).value_or(0) : tokens;
    if (saturated || !(speed > (texts_of(run) ? kLeastSpeed : kLeastThroughput))) continue;
    levels.back().level = run.level;
    levels.back().tokens_per_minute = 60 * tokens;
  }
  return levels;
}

Status write_workbook(const std::string& path, const Experiment& experiment, const WorkbookOptions& options) {
  if (std::none_of(std::begin(kPercentileNames), std::end(kPercentileNames),
                   [&](const char* name) { return options.percentile == name; })) {
    return usage_error("--metric-percentile: '" + options.percentile + "' is none that is kept",
                       "mean, p25, p50, p75, p90, p95, p99");
  }
  WM_ASSIGN(const double scale, time_scale(options.time_unit));
  const std::filesystem::path temporary = temporary_for(path);
  lxw_workbook* book = workbook_new(temporary.c_str());
  if (book == nullptr) return environment_error("there is no memory for the workbook");
  Workbook(book, experiment, options, scale).write();
  const lxw_error error = workbook_close(book);
  if (error != LXW_NO_ERROR) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return environment_error(fmt::format("{} cannot be written: {}", path, lxw_strerror(error)),
                             "is there room on the disk, and in TMPDIR?");
  }
  return put_in_place(temporary, path);
}

}  // namespace warpmark::exchange
