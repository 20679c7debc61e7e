#include <warpmark/measure.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "device/device.h"
#include "library/convert.h"
#include "measure/round.h"
#include "report/draw/format.h"
#include "stats/summary.h"

namespace warpmark::library {
namespace {

/// What a round is given: a callable and how often it is called for one launch of the engine.
struct Callable {
  v0::Calls calls{};
  v0::Launches launches{};
  std::int64_t repeats = 1;
  const v0::MeasureOptions* options = nullptr;

  void run(void* stream, std::int64_t times) const {
    if (launches.launch != nullptr) {
      launches.launch(launches.callable, stream, times);
    } else {
      calls.call(calls.callable, times);
    }
  }
};

class PreparedCallable : public measure::Prepared {
 public:
  explicit PreparedCallable(const Callable& callable) : callable_(callable) {}
  Status launch(device::Stream stream, std::size_t) override {
    callable_.run(stream.handle, callable_.repeats);
    return {};
  }
  Status poison() override { return {}; }
  Result<ErrorCheck> check(std::size_t) override {
    const auto& is_right = callable_.options->is_right;
    return ErrorCheck{.value = is_right && !is_right() ? 1.0 : 0.0,
                      .tolerance = 0,
                      .norm = is_right ? "answers of is_right that are no" : "nothing was checked",
                      .reference = "the program's own"};
  }

 private:
  const Callable& callable_;
};

const Callable& callable_of(const measure::Workload& self) { return *static_cast<const Callable*>(self.extension); }

Result<Cost> cost_of(const measure::Workload& self, const Params&) {
  const auto& callable = callable_of(self);
  const auto repeats = static_cast<double>(callable.repeats);
  return Cost{.flops = callable.options->flops * repeats, .bytes = callable.options->bytes * repeats};
}

device::Support supported(const measure::Workload&, const DeviceInfo&, const Params&) { return device::Support::yes(); }

Result<std::unique_ptr<measure::Prepared>> prepared(const measure::Workload& self, const measure::PrepareOptions&) {
  return std::unique_ptr<measure::Prepared>(std::make_unique<PreparedCallable>(callable_of(self)));
}

Status check_options(const v0::MeasureOptions& options) {
  if (!(options.budget_s > 0) || !std::isfinite(options.budget_s)) return usage_error("budget_s must be above 0");
  if (!(options.precision > 0 && options.precision < 1)) return usage_error("precision must be between 0 and 1");
  if (options.most_samples < measure::kFewestSamples) {
    return usage_error(
        fmt::format("most_samples must be at least {}, which an interval needs", measure::kFewestSamples));
  }
  // Far above what one call can do, and far enough below what a double holds that rates of many calls are numbers.
  constexpr double kMostWork = 1e24;
  for (const double work : {options.bytes, options.flops}) {
    if (!(work >= 0 && work <= kMostWork)) return usage_error("bytes and flops must be between 0 and 1e24");
  }
  if (!(options.warmup_s >= 0) || !std::isfinite(options.warmup_s)) {
    return usage_error("warmup_s must be 0 or above, and finite");
  }
  return {};
}

double seconds_of(const Callable& callable, device::Device& device, std::int64_t times) {
  const std::int64_t begin = monotonic_ns();
  callable.run(device.stream().handle, times);
  (void)device.synchronize();  // what failed is told by the round
  return static_cast<double>(monotonic_ns() - begin) * 1e-9;
}

/// The engine's own cost for a launch, some nanoseconds, shall be lost in the work: at least a microsecond of it.
std::int64_t repeats_for(const Callable& callable, device::Device& device) {
  constexpr double kEnough_s = 2e-6;
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t repeats = 1;
  while (repeats < kMost && seconds_of(callable, device, repeats) < kEnough_s) repeats *= 2;
  return repeats;
}

/// From launches to calls.
void divide_by(Run& run, std::int64_t repeats) {
  for (auto& metric : run.metrics) {
    if (metric.id != "time") continue;
    for (double& sample : metric.samples) sample /= static_cast<double>(repeats);
    metric.summary = stats::summarize(metric.samples);
  }
  run.cost.bytes /= static_cast<double>(repeats);
  run.cost.flops /= static_cast<double>(repeats);
  run.timing.launches_per_sample *= repeats;
}

Result<v0::Measurement> measured(Callable callable, const std::string& device_id, const v0::MeasureOptions& options) {
  WM_TRY(check_options(options));
  WM_ASSIGN(const auto device, device::open_device(device_id));
  callable.options = &options;
  const double first_call_s = seconds_of(callable, *device, 1);
  if (callable.launches.launch == nullptr) callable.repeats = repeats_for(callable, *device);
  const measure::Workload workload{.id = "callable",
                                   .summary = "a part of a program",
                                   .params = {},
                                   .cost = cost_of,
                                   .supports = supported,
                                   .prepare = prepared,
                                   .cases = nullptr,
                                   .default_mode = Mode::hot,
                                   .extension = &callable};
  Params params;
  params.set("name", options.name);
  const measure::Case what{.workload = &workload, .device = device_id, .params = params, .mode = Mode::hot};
  measure::RoundOptions round;
  round.stopping.half_width = options.precision;
  round.stopping.max_samples = options.most_samples;
  round.stopping.min_samples = std::min<std::int64_t>(round.stopping.min_samples, options.most_samples);
  round.stopping.budget_s = options.budget_s;
  round.warmup.cap_s = options.warmup_s;
  Run run = measure::measure_round(what, *device, round);
  if (run.outcome == Outcome::error || run.outcome == Outcome::unsupported) {
    return Error{run.fault.value_or(ErrorKind::unsupported), run.reason, run.hint};
  }
  divide_by(run, callable.repeats);
  if (!options.is_right) run.error.reset();
  run.id = run.started + ".0";
  return to_public(run, first_call_s);
}

std::string quantity_text(const v0::Estimate& estimate, const char* unit) {
  const auto text = [&](double value) { return report::format_quantity(value, unit); };
  if (std::isnan(estimate.low)) return text(estimate.value);
  return fmt::format("{} [{}, {}]", text(estimate.value), text(estimate.low), text(estimate.high));
}

}  // namespace
}  // namespace warpmark::library

namespace warpmark::v0 {

Result<Measurement> measure_calls(const Calls& calls, const MeasureOptions& options) {
  if (calls.call == nullptr) return library::to_public(usage_error("the function is empty: it cannot be called"));
  auto measured = library::measured({.calls = calls}, "cpu", options);
  if (!measured.ok()) return library::to_public(measured.error());
  return std::move(measured).value();
}

Result<Measurement> measure_launches(const Launches& launches, int gpu, const MeasureOptions& options) {
  if (launches.launch == nullptr) {
    return library::to_public(usage_error("the function is empty: it cannot be launched"));
  }
  auto measured = library::measured({.launches = launches}, fmt::format("cuda:{}", gpu), options);
  if (!measured.ok()) return library::to_public(measured.error());
  return std::move(measured).value();
}

std::string to_text(const Measurement& measurement) {
  std::string text = measurement.name + " on " + measurement.device + ": ";
  if (measurement.samples_s.empty()) return text + measurement.outcome + ": " + measurement.reason + "\n";
  text += library::quantity_text(measurement.median_s, "s") + fmt::format(", {} samples", measurement.samples_s.size());
  if (measurement.calls_per_sample > 1) text += fmt::format(" of {} calls", measurement.calls_per_sample);
  text += fmt::format("; first call {}\n", report::format_quantity(measurement.first_call_s, "s"));
  if (measurement.bytes_per_s) text += "  " + library::quantity_text(*measurement.bytes_per_s, "B/s") + "\n";
  if (measurement.flops_per_s) text += "  " + library::quantity_text(*measurement.flops_per_s, "FLOP/s") + "\n";
  if (!measurement.converged) text += "  less precise than requested: " + measurement.stopped_because + "\n";
  if (measurement.outcome != "passed") text += "  " + measurement.outcome + ": " + measurement.reason + "\n";
  return text;
}

}  // namespace warpmark::v0
