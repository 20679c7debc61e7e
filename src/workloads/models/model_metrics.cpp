#include "workloads/models/model_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "device/datasheet.h"
#include "stats/order_statistics.h"
#include "stats/sampled_metric.h"

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
constexpr std::int64_t kBetweenLooks_ns = 50'000'000;

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
  if (!(std::abs(first - losses.ignorance) <= 0.15 * losses.ignorance + 0.1)) {
    verdict.fault =
        fmt::format("the first loss is {:.4g}; a network that knows nothing has {:.4g}", first, losses.ignorance);
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

void DeviceMemory::look() {
  if (!baseline_ || monotonic_ns() - looked_ns_ < kBetweenLooks_ns) return;
  look_last();
}

void DeviceMemory::look_last() {
  if (!baseline_) return;
  if (const auto now = read_sensor(device_, kSensor)) {
    last_ = now;
    most_ = std::max(most_.value_or(0), *now);
  }
  looked_ns_ = monotonic_ns();
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

}  // namespace warpmark::workloads
