#include "warpmark/optimize/optimize_calibration.h"

#include <fmt/format.h>

#include <map>
#include <ostream>

#include "device/machine.h"
#include "report/build/optimization.h"
#include "report/formats/render.h"
#include "session/new_session.h"
#include "stats/summary.h"
#include "store/keep.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr const char* kWorkload = "optimize";

Metric ratio_metric(const char* id, double value) {
  Metric metric{.id = id, .unit = "", .better = Better::higher, .samples = {value}, .round_sizes = {1}};
  metric.summary = stats::summarize(metric.samples);
  return metric;
}

}  // namespace

Status store_optimization(const Context& context, const ParsedOptions& options, const Optimization& optimization) {
  Session session = session::new_session(command_line_of(context));
  for (const auto& step : optimization.steps) {
    // What blocks of steps said counts only where no process of its own was tried.
    const auto& measured = step.measured ? step.measured : step.runs > 0 ? step.found : step.in_process;
    if (!step.predicted || !measured) continue;
    Run run{.workload = kWorkload, .device = "host", .outcome = Outcome::passed};
    run.index = static_cast<std::int64_t>(session.runs.size());
    run.id = fmt::format("{}.{}", session.id, run.index);
    run.params.set("knob", step.knob);
    run.params.set("value", step.value);
    run.params.set("outcome", std::string(name_of(step.outcome)));
    run.metrics = {ratio_metric("measured", measured->ratio), ratio_metric("predicted_low", step.predicted->low),
                   ratio_metric("predicted_high", step.predicted->high)};
    run.started = session.started;
    run.rounds = 1;
    run.repro = optimization.command;
    session.runs.push_back(std::move(run));
  }
  session.complete = true;
  WM_ASSIGN(const auto store, open_store(context, options));
  WM_ASSIGN([[maybe_unused]] const auto kept, store::keep_session(*store, session));
  return store::attach_report(*store, session.id, to_json(optimization), optimization.program);
}

Result<int> show_calibration(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto format, format_of(options));
  WM_ASSIGN(const auto store, open_store(context, options));
  const auto fingerprint = device::machine_facts().fingerprint;
  std::map<std::string, report::CalibrationRow> rows;
  for (const char* metric : {"measured", "predicted_low", "predicted_high"}) {
    store::RunQuery query{.workload = kWorkload, .metric = metric, .fingerprint = fingerprint};
    WM_ASSIGN(const auto points, store->find(query));
    for (const auto& point : points) {
      auto& row = rows[fmt::format("{}.{}", point.session, point.index)];
      row.knob = point.params;
      row.started = point.started;
      const double value = point.median;
      if (std::string_view(metric) == "measured") row.measured = value;
      if (std::string_view(metric) == "predicted_low") row.predicted_low = value;
      if (std::string_view(metric) == "predicted_high") row.predicted_high = value;
    }
  }
  std::vector<report::CalibrationRow> list;
  Json json{{"schema", "warpmark.calibration/1"}, {"machine", fingerprint}, {"trials", Json::array()}};
  for (auto& [id, row] : rows) {
    // "knob=loader.workers value=4 outcome=kept"
    const auto begin = row.knob.find("knob=");
    if (begin != std::string::npos) row.knob = row.knob.substr(begin + 5, row.knob.find(' ', begin + 5) - begin - 5);
    json["trials"].push_back({{"knob", row.knob},
                              {"started", row.started},
                              {"predicted_low", row.predicted_low},
                              {"predicted_high", row.predicted_high},
                              {"measured", row.measured}});
    list.push_back(row);
  }
  const auto shown = shown_as([&] { return json; }, report::build_calibration_report(list));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "calibration", shown));
  return kSuccess;
}

}  // namespace warpmark::apps
