// CSV that tools write beside their JSON, known by their columns: hyperfine (--export-csv), Google Benchmark
// (--benchmark_format=csv), JMH (-rf csv), pytest-benchmark (--benchmark-csv). Such a file has a summary of each
// result, or of Google Benchmark a row for each repetition; names and metrics are those of the tool's JSON.
#include <algorithm>
#include <array>
#include <set>

#include "base/csv.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/formats/google_names.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "report/formats/google_benchmark.h"

namespace warpmark::exchange {
namespace {

using Fields = std::vector<std::string>;

/// The cells of one row, by the names of their columns.
class Cells {
 public:
  Cells(const Fields& header, const Fields& row) : header_(header), row_(row) {}

  [[nodiscard]] const Fields& names() const { return header_; }
  [[nodiscard]] std::string text(std::string_view name) const {
    const auto at = std::ranges::find(header_, name);
    return at == header_.end() ? std::string() : clean_text(trim(row_[static_cast<std::size_t>(at - header_.begin())]));
  }
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    const auto value = parse_number(text(name));
    return value.ok() ? std::optional(*value) : std::nullopt;
  }

 private:
  const Fields& header_;
  const Fields& row_;
};

constexpr const char* kToolMedianAlone = "the file has the median alone";

Status add_median(const Cells& cells, Run& run) {
  const auto median = cells.number("median");
  if (!median) return data_error("'" + run.workload + "' has no median");
  return add_summary_metric(run, kTime, *median, kToolMedianAlone);
}

Status read_hyperfine(const Cells& cells, Session& session) {
  Run& run = add_run(session, cells.text("command"), "cpu");
  for (const auto& name : cells.names()) {
    constexpr std::string_view kParameter = "parameter_";
    if (name.starts_with(kParameter)) {
      WM_TRY(set_param(run, clean_text(name.substr(kParameter.size())), param_value(cells.text(name))));
    }
  }
  WM_TRY(add_median(cells, run));
  for (const auto& [name, id] : {std::pair{"user", "user_time"}, std::pair{"system", "system_time"}}) {
    const auto seconds = cells.number(name);
    if (seconds) WM_TRY(add_summary_metric(run, {id, "s", Better::lower}, *seconds, "the mean of all executions"));
  }
  return {};
}

Status read_pytest(const Cells& cells, Session& session) {
  Run& run = add_run(session, cells.text("name"), "cpu");
  run.notes.emplace_back("rounds", cells.text("rounds"));
  return add_median(cells, run);
}

Status read_google(const Cells& cells, Session& session) {
  Run& run = add_run(session, cells.text("name"), "cpu");
  if (const auto label = cells.text("label"); !label.empty()) run.notes.emplace_back("label", label);
  if (cells.text("error_occurred") == "true") {
    run.outcome = Outcome::error;
    run.fault = ErrorKind::usage;
    run.reason = cells.text("error_message");
    return {};
  }
  const Unit time = unit_of(cells.text("time_unit"));
  for (const auto& name : cells.names()) {
    constexpr std::array<std::string_view, 6> kNoMetrics{"name",  "iterations",     "time_unit",
                                                         "label", "error_occurred", "error_message"};
    const auto value = cells.number(name);
    if (!value || std::ranges::find(kNoMetrics, name) != kNoMetrics.end()) continue;
    const std::string key = clean_text(name);
    const bool is_time = name == "real_time" || name == "cpu_time";
    WM_TRY(add_metric(run, google_quantity(key), {is_time ? time.to_si(*value) : *value}));
  }
  return {};
}

Status read_jmh(const Cells& cells, Session& session) {
  Run& run = add_run(session, cells.text("Benchmark"), "cpu");
  for (const auto& name : cells.names()) {
    constexpr std::string_view kParameter = "Param: ";
    const auto value = cells.text(name);
    if (name.starts_with(kParameter) && !value.empty()) {
      WM_TRY(set_param(run, clean_text(name.substr(kParameter.size())), param_value(value)));
    }
  }
  WM_TRY(set_param(run, "mode", cells.text("Mode")));
  if (cells.number("Threads").value_or(1) > 1) WM_TRY(set_param(run, "threads", param_value(cells.text("Threads"))));
  const auto score = cells.number("Score");
  if (!score) {
    run.outcome = Outcome::error;
    run.fault = ErrorKind::data;
    run.reason = "its score is not a number";
    return {};
  }
  const Unit unit = unit_of(cells.text("Unit"));
  return add_metric(run, {metric_for(unit.si), unit.si.c_str(), direction_of_unit(unit.si)}, {unit.to_si(*score)});
}

struct Tool {
  const char* name;
  std::initializer_list<std::string_view> columns;  ///< that its table has
  Status (*read)(const Cells& cells, Session& session);
};

const Tool* tool_of(std::string_view text) {
  static const Tool kTools[] = {
      {"hyperfine", {"command", "mean", "stddev", "median", "user", "system"}, read_hyperfine},
      {"Google Benchmark", {"name", "iterations", "real_time", "cpu_time", "time_unit"}, read_google},
      {"JMH", {"Benchmark", "Mode", "Score", "Unit"}, read_jmh},
      {"pytest-benchmark", {"name", "mean", "stddev", "median", "rounds", "ops", "iterations"}, read_pytest}};
  const auto line = text.substr(0, text.find('\n'));
  Fields header;
  if (line.size() > (1 << 16) || !CsvRows(line, ',').next(header).ok()) return nullptr;
  for (auto& name : header) name = std::string(trim(name));
  const auto has = [&](std::string_view name) { return std::ranges::find(header, name) != header.end(); };
  const auto tool =
      std::ranges::find_if(kTools, [&](const Tool& one) { return std::ranges::all_of(one.columns, has); });
  return tool == std::end(kTools) ? nullptr : tool;
}

bool detect_tool_csv(const Document& document) { return !document.json && tool_of(document.text) != nullptr; }

/// An entry that summarizes others. The median alone is read, and where there are repetitions not even that.
struct Aggregate {
  bool left_out = false;
  std::string name;  ///< of the benchmark whose median this is; empty: it is no aggregate
};

/// The table does not say which entries are aggregates. One has the name of another with an ending, or a twin with the
/// ending of the mean.
Aggregate aggregate_of(const std::string& name, const std::set<std::string, std::less<>>& names) {
  const std::string base(google_base_name(name));
  if (base.size() == name.size()) return {};
  if (names.contains(base)) return {.left_out = true, .name = base};
  if (!names.contains(base + "_mean") || !names.contains(base + "_median")) return {};
  return {.left_out = !name.ends_with("_median"), .name = base};
}

Result<std::vector<Session>> read_tool_csv(const Document& document) {
  const Tool* tool = tool_of(document.text);
  if (tool == nullptr) return data_error("its columns are of no tool that is known");
  WM_ASSIGN(auto rows, parse_csv(document.text, ',', document.name));
  Session session = foreign_session(tool->name);
  ResultLimit limit(document.text);
  for (auto& name : rows.front()) name = std::string(trim(name));
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].size() != rows[0].size()) return data_error("row " + std::to_string(i + 1) + " has other columns");
    names.insert(Cells(rows[0], rows[i]).text("name"));
  }
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Cells cells(rows[0], rows[i]);
    const Aggregate aggregate = tool->read == read_google ? aggregate_of(cells.text("name"), names) : Aggregate{};
    if (aggregate.left_out) continue;
    WM_TRY(tool->read(cells, session));
    Run& run = session.runs.back();
    if (!aggregate.name.empty()) {
      run.workload = aggregate.name;
      run.notes.emplace_back(report::kAggregateNote, "median");
    }
    keep_name(run);
    run.timing.method = tool->name;
    WM_TRY(limit.add(run));
  }
  if (tool->read == read_google) merge_repeats(session);
  return std::vector<Session>{std::move(session)};
}

}  // namespace

extern const Format kToolCsv{"tool-csv", "CSV of hyperfine, Google Benchmark, JMH, pytest-benchmark", detect_tool_csv,
                             read_tool_csv};

}  // namespace warpmark::exchange
