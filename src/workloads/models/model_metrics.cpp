#include "workloads/models/model_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "device/datasheet.h"
#include "stats/summary.h"

namespace warpmark::workloads {
namespace {

constexpr double kPhasesAgree = 0.01;  // beyond the slowest and the fastest of the timed windows

constexpr std::size_t kMostSamples = 4096;  // a generation has one a word

/// As many of them as are kept, evenly from all of the time.
std::vector<double> thinned(std::vector<double> seconds) {
  if (seconds.size() <= kMostSamples) return seconds;
  std::vector<double> kept(kMostSamples);
  for (std::size_t i = 0; i < kMostSamples; ++i) kept[i] = seconds[i * seconds.size() / kMostSamples];
  return kept;
}

constexpr const char* kSensor = "memory_used";
constexpr std::int64_t kBetweenPolls_ns = 50'000'000;

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

void add_model_rates(const ModelStep& step, Run& run) {
  const std::vector<double> seconds = run.metrics.front().samples;
  const auto rate = [&](const char* id, const char* unit, double work) {
    std::vector<double> rates;
    for (const double s : seconds) rates.push_back(work / s);
    run.metrics.push_back(stats::sampled_metric(id, unit, Better::higher, std::move(rates)));
  };
  const auto add = [&](const char* id, const char* unit, Better better, double value) {
    run.metrics.push_back(stats::sampled_metric(id, unit, better, {value}));
  };
  const double samples = static_cast<double>(step.shape.batch * step.params.integer("accumulate")) * step.ranks;
  const bool decodes = step.params.text("pass") == "decode";
  const double words = static_cast<double>(decodes ? step.shape.new_tokens : step.shape.tokens);
  rate("flop_rate", "FLOP/s", run.cost.flops);
  rate("samples_rate", "1/s", samples);
  if (words > 0) rate("tokens_rate", "1/s", samples * words);
  if (step.joules) {
    add("samples_energy", "J", Better::lower, *step.joules / samples);
    if (words > 0) add("tokens_energy", "1/J", Better::higher, samples * words / *step.joules);
  }
  if (step.device.backend == "cuda") run.cost.flops /= step.ranks;
  const auto sheets = device::built_in_datasheets();
  const auto* sheet = device::datasheet_of_device(sheets, step.device.name);
  const auto peak = sheet == nullptr ? decltype(sheet->peak_rate.end()){} : sheet->peak_rate.find(run.cost.flop_type);
  if (sheet == nullptr || peak == sheet->peak_rate.end()) {
    run.notes.emplace_back("utilization",
                           fmt::format("none: no datasheet here has the {} peak of {}", run.cost.flop_type,
                                       step.device.name.empty() ? step.device.id : step.device.name));
    return;
  }
  rate("mfu", "ratio", run.cost.flops / peak->second);
  run.notes.emplace_back(
      "utilization",
      fmt::format("of {:.4g} TFLOP/s {}, datasheet {}; as PaLM defines it (appendix B), attention in full",
                  peak->second * 1e-12, run.cost.flop_type, sheet->id));
}

LossVerdict judged_losses(const StepLosses& losses) {
  for (const double loss : losses.all) {
    if (!std::isfinite(loss)) return {.fault = fmt::format("a loss is {}", loss), .seen = ""};
  }
  LossVerdict verdict;
  const double first = losses.all.front();
  if (!(std::abs(first - losses.chance_level) <= 0.15 * losses.chance_level + 0.1)) {
    verdict.fault =
        fmt::format("the first loss is {:.4g}; a network that knows nothing has {:.4g}", first, losses.chance_level);
  }
  constexpr std::size_t kLast = 4;
  if (!losses.train || losses.all.size() < kLast) return verdict;
  const auto tail = losses.all.last(kLast);
  const double last = std::accumulate(tail.begin(), tail.end(), 0.0) / kLast;
  verdict.seen = fmt::format("{:.4g} at first, {:.4g} after {} steps", first, last, losses.all.size());
  if (verdict.fault.empty() && !(last < first)) {
    verdict.fault = fmt::format("the loss did not fall: {:.4g}, then {:.4g}", first, last);
  }
  return verdict;
}

std::int64_t phase_steps(const PhaseSteps& wanted) {
  const std::int64_t enough = std::max(wanted.least, stats::samples_needed(0.99, 0.95));
  const auto affordable = static_cast<std::int64_t>(std::min(wanted.room_s / std::max(wanted.step_s, 1e-6), 1e6));
  return std::max<std::int64_t>(1, std::min(std::clamp(affordable, wanted.least, enough), wanted.most));
}

void add_phases(ModelPhases phases, Run& run) {
  const Summary time = run.metrics.front().summary;
  for (auto& [name, seconds] : phases.seconds) {
    run.metrics.push_back(stats::sampled_metric("phase." + name, "s", Better::lower, thinned(std::move(seconds))));
  }
  if (!(time.median > 0)) return;
  const double ratio = phases.step_s / time.median;
  run.metrics.push_back(stats::sampled_metric("phases_ratio", "ratio", Better::neither, {ratio}));
  const double low = time.min / time.median - kPhasesAgree, high = time.max / time.median + kPhasesAgree;
  if (ratio >= low && ratio <= high) return;
  run.notes.emplace_back("phases",
                         fmt::format("they add up to {:.1f} % of the step without marks, whose windows lie "
                                     "from {:.1f} to {:.1f} %",
                                     100 * ratio, 100 * time.min / time.median, 100 * time.max / time.median));
}

std::optional<double> read_sensor(device::Device& device, std::string_view id) {
  const auto conditions = device.conditions();
  if (!conditions.ok()) return std::nullopt;
  for (const auto& read : conditions->sensors) {
    if (read.id == id) return read.value;
  }
  return std::nullopt;
}

DeviceMemory::DeviceMemory(device::Device& device) : device_(device), baseline_(read_sensor(device, kSensor)) {}

void DeviceMemory::probe() {
  if (!baseline_ || monotonic_ns() - polled_ns_ < kBetweenPolls_ns) return;
  poll_last();
}

void DeviceMemory::poll_last() {
  if (!baseline_) return;
  if (const auto now = read_sensor(device_, kSensor)) {
    last_ = now;
    most_ = std::max(most_.value_or(0), *now);
  }
  polled_ns_ = monotonic_ns();
}

void DeviceMemory::add_to(Run& run) const {
  const auto add = [&](const char* id, const std::optional<double>& bytes) {
    if (bytes) run.metrics.push_back(stats::sampled_metric(id, "B", Better::lower, {*bytes}));
  };
  add("memory.baseline", baseline_);
  add("memory.device", most_);
  add("memory.final", last_);
  const auto all = static_cast<double>(device_.info().memory_bytes);
  if (most_ && all > 0)
    run.metrics.push_back(stats::sampled_metric("memory.utilization", "ratio", Better::neither, {*most_ / all}));
}

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
  const bool attributions = answer.value("reached", Json()) == true;
  const bool reached = goal.metric == "loss" ? value <= goal.target : value >= goal.target;
  if (attributions != reached)
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
