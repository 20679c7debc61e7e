#include "workloads/models/model_quality.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "stats/sampled_metric.h"

namespace warpmark::workloads {
namespace {

constexpr double kQualityDeadline_s = 30 * 86400.0;
constexpr double kSlack_s = 0.1;  // of the two clocks, which read the same counter

Error no_goal(const std::string& text) {
  return usage_error("until cannot be '" + text + "'", "accuracy>=0.759, loss<=2.5 or auc>=0.8");
}

/// A log is of one training: log.txt becomes log_0.txt, log_1.txt, ...
std::string log_of_round(const std::filesystem::path& log, int round) {
  if (log.empty()) return "";
  return log.parent_path() / fmt::format("{}_{}{}", log.stem().string(), round, log.extension().string());
}

}  // namespace

Result<QualityGoal> parse_quality_goal(const std::string& text) {
  for (const char* known : {"accuracy>=", "auc>=", "loss<="}) {
    const std::string head = known;
    if (!text.starts_with(head)) continue;
    const auto target = parse_number(text.substr(head.size()));
    if (!target.ok() || !std::isfinite(*target)) return no_goal(text);
    const bool share = head != "loss<=";
    if (share && !(*target > 0 && *target <= 1)) return usage_error(text + " is no share", "above 0, and up to 1");
    return QualityGoal{head.substr(0, head.size() - 2), *target};
  }
  return no_goal(text);
}

Status measure_quality(const Params& params, const ModelShape& shape, int round, ModelWorkers& workers, Run& run) {
  WM_ASSIGN(const QualityGoal goal, parse_quality_goal(params.text("until")));
  const std::int64_t asked = monotonic_ns();
  WM_ASSIGN(const Json answer, workers.ask({{"ask", "until"},
                                            {"metric", goal.metric},
                                            {"target", goal.target},
                                            {"most_epochs", params.integer("epochs")},
                                            {"recipe", params.text("recipe")},
                                            {"data", params.text("data")},
                                            {"workers", params.integer("workers")},
                                            {"log", log_of_round(params.text("log"), round)}},
                                           kQualityDeadline_s));
  const double ours = static_cast<double>(monotonic_ns() - asked) * 1e-9;
  WM_ASSIGN(const double begin, answered_number(answer, "begin_ns"));
  WM_ASSIGN(const double end, answered_number(answer, "end_ns"));
  WM_ASSIGN(const double epochs, answered_number(answer, "epochs"));
  WM_ASSIGN(const double samples, answered_number(answer, "samples"));
  WM_ASSIGN(const double value, answered_number(answer, "value"));
  const double seconds = (end - begin) * 1e-9;
  if (!(seconds > 0) || seconds > ours + kSlack_s || !(samples > 0)) {
    return data_error(fmt::format("the worker says {:.4g} s for {:.0f} samples; by our clock it was {:.4g} s", seconds,
                                  samples, ours));
  }
  const bool claims = answer.value("reached", Json()) == true;
  const bool reached = goal.metric == "loss" ? value <= goal.target : value >= goal.target;
  if (claims != reached)
    return data_error(fmt::format("the worker contradicts itself: {} is {:.4g}", goal.metric, value));
  run.notes.emplace_back(
      "quality", fmt::format("{} {:.4g} after {:.0f} epochs, {:.0f} samples", goal.metric, value, epochs, samples));
  if (!reached) {
    run.outcome = Outcome::failed;
    run.reason = fmt::format("{} is {:.4g} after {:.0f} epochs, asked for was {}", goal.metric, value, epochs,
                             params.text("until"));
    run.hint = "more --set epochs, or a lower goal";
    return {};
  }
  run.outcome = Outcome::passed;
  run.converged = true;
  run.stopped_because = "the quality was reached";
  run.timing = {"worker's clock between synchronizations", 1e-9, 0, 1, 1};
  run.cost.flops = 3 * shape.forward_flops * samples;
  const auto add = [&](const char* id, const char* unit, Better better, double number) {
    run.metrics.push_back(stats::sampled_metric(id, unit, better, {number}));
  };
  add("time", "s", Better::lower, seconds);
  add("flop_rate", "FLOP/s", Better::higher, run.cost.flops / seconds);
  add("samples_rate", "1/s", Better::higher, samples / seconds);
  add("quality", "1", Better::higher, value);
  add("epochs", "1", Better::lower, epochs);
  add("samples", "1", Better::lower, samples);
  if (params.number("price") > 0) add("cost", "1", Better::lower, seconds / 3600 * params.number("price"));
  return {};
}

}  // namespace warpmark::workloads
