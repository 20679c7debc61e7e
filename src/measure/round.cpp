#include "measure/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/names.h"
#include "model/run_query.h"
#include "stats/summary.h"

namespace warpmark::measure {
namespace {

// Energy of a launch from the device's own cumulative counter (NVML's total energy consumption, in millijoules since
// the driver was loaded). Integrating power samples instead is known to mislead (Yang, Adamek, Armour, "Part-time Power
// Measurements: nvidia-smi's Lack of Attention", SC 2024): hence counter differences over a long enough stretch.

constexpr int kLaunchesBetweenPolls = 16;  // bounds the queue, and how far the end can overshoot

Result<std::optional<double>> counter_joules(device::Device& device) {
  WM_ASSIGN(const auto conditions, device.conditions());
  for (const auto& sensor : conditions.sensors) {
    if (sensor.id == "energy") return sensor.value;
  }
  return std::optional<double>{};
}

/// Joules per launch over at least `seconds` of back-to-back launches, idle power included. No value where the device
/// has no such counter.
Result<std::optional<double>> energy_per_launch(device::Device& device, Prepared& prepared, std::size_t sets,
                                                double seconds) {
  WM_ASSIGN(const auto before, counter_joules(device));
  if (!before) return std::optional<double>{};
  std::size_t launches = 0;
  const std::int64_t begin = monotonic_ns();
  while (static_cast<double>(monotonic_ns() - begin) * 1e-9 < seconds) {
    for (int i = 0; i < kLaunchesBetweenPolls; ++i) WM_TRY(prepared.launch(device.stream(), launches++ % sets));
    WM_TRY(device.synchronize());
  }
  WM_ASSIGN(const auto after, counter_joules(device));
  if (!after || *after <= *before) return std::optional<double>{};
  return std::optional<double>((*after - *before) / static_cast<double>(launches));
}

constexpr double kResolutions = 100;      // a sample lasts at least this many timer steps
constexpr std::size_t kMostSets = 65536;  // rotating over more costs more to prepare than it is worth
constexpr std::int64_t kMostLaunchesPerSample = 1 << 20;

/// Stands between the engine and a workload: remembers how far the rotation has come and stops on Ctrl-C.
struct TimedPhase {
  StoppingRule rule;
  std::size_t next_set = 0;
  std::size_t launches = 0;
  bool interrupted = false;
};

Result<TimedPhase> sample(device::TimedSequence& sequence, std::size_t sets, const Timing& timing,
                          std::size_t first_set, const RoundOptions& options) {
  TimedPhase phase{StoppingRule(options.stopping), first_set, 0, false};
  const auto launches = static_cast<std::size_t>(timing.launches_per_sample);
  const std::int64_t begin = monotonic_ns();
  while (!phase.rule.done()) {
    WM_ASSIGN(const double seconds, sequence.time(phase.next_set));
    phase.next_set = (phase.next_set + launches) % sets;
    phase.launches += launches;
    phase.rule.add(seconds / static_cast<double>(launches), static_cast<double>(monotonic_ns() - begin) * 1e-9);
    if (options.interrupted != nullptr && options.interrupted->load(std::memory_order_relaxed)) {
      phase.interrupted = true;
      return phase;
    }
  }
  return phase;
}

void add_time_metrics(Run& run, const std::vector<double>& seconds) {
  const auto rate_of = [&](double work) {
    std::vector<double> rates;
    rates.reserve(seconds.size());
    for (const double s : seconds) rates.push_back(work / s);
    return rates;
  };
  run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, seconds));
  if (run.cost.flops > 0) {
    run.metrics.push_back(stats::sampled_metric("flop_rate", "FLOP/s", Better::higher, rate_of(run.cost.flops)));
  }
  if (run.cost.bytes > 0) {
    run.metrics.push_back(stats::sampled_metric("bandwidth", "B/s", Better::higher, rate_of(run.cost.bytes)));
  }
}

/// Checks the outputs of the last timed launch and of one other that the timed launches wrote.
Status check_outputs(Run& run, Prepared& prepared, std::size_t first_set, const TimedPhase& phase, std::size_t sets) {
  const std::size_t last = (phase.next_set + sets - 1) % sets;
  std::vector<std::size_t> chosen{last};
  if (phase.launches >= 2 && sets > 1) chosen.push_back(first_set % sets);
  for (const std::size_t set : chosen) {
    WM_ASSIGN(const ErrorCheck check, prepared.check(set));
    const bool worse = !run.error || !(check.value <= run.error->value);
    if (worse) run.error = check;
  }
  if (!(run.error->value <= run.error->tolerance)) {
    run.outcome = Outcome::failed;
    run.reason = fmt::format("wrong output: {} is {:.3g}, tolerance {:.3g}", run.error->norm, run.error->value,
                             run.error->tolerance);
    run.hint = "the speed of a wrong result means nothing and is not shown";
    run.metrics.clear();
  }
  return {};
}

struct Measured {
  device::Conditions before;
  device::Conditions after;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t samples = 0;
  bool host_clock = false;
};

double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

void judge(Run& run, const device::Device& device, const Measured& measured, const RoundOptions& options) {
  const auto* earlier = options.history == nullptr ? nullptr : options.history->before(measured.end_ns);
  run.environment = judge_environment(
      {.device = device.info(),
       .before = measured.before,
       .after = measured.after,
       .elapsed_s = seconds_between(measured.begin_ns, measured.end_ns),
       .host_cpus = options.host_cpus,
       .samples = measured.samples,
       .host_clock = measured.host_clock,
       .host_before = earlier == nullptr ? nullptr : &earlier->conditions,
       .host_elapsed_s = earlier == nullptr ? 0 : seconds_between(earlier->time_ns, measured.end_ns)});
  for (const auto& disturbance : run.environment.disturbances) {
    if (!disturbance.invalidates || run.outcome != Outcome::passed) continue;
    run.outcome = Outcome::unreliable;
    run.reason = disturbance.cause;
    run.hint = "measure again on a quiet machine; `warpmark doctor` says what disturbs";
  }
}

Status note_host(device::Device& device, HostHistory* history) {
  if (history == nullptr || device.info().backend != "cpu") return {};
  WM_ASSIGN(auto now, device.conditions());
  history->note(monotonic_ns(), std::move(now));
  return {};
}

/// prepare -> warm up -> time -> check, filling `run`.
Status measure(Run& run, const Case& what, device::Device& device, const RoundOptions& options) {
  WM_ASSIGN(run.cost, what.workload->cost(*what.workload, what.params));
  if (const auto support = what.workload->supports(*what.workload, device.info(), what.params); !support.available) {
    return unsupported_error(support.reason, support.hint);
  }
  WM_TRY(note_host(device, options.history));
  WM_ASSIGN(const std::size_t sets, sets_for(what.mode, run.cost, device.info()));
  WM_ASSIGN(const auto prepared, what.workload->prepare(*what.workload, {device, what.params, sets, options.seed}));

  device::SequenceOptions sequence_options{.mode = what.mode, .sets = sets, .host_clock = prepared->host_clock()};
  const device::TimerInfo timer = device.timer(sequence_options);
  run.timing = {timer.method, timer.resolution_s, timer.overhead_s, 1, static_cast<std::int64_t>(sets)};

  WM_ASSIGN(auto sequence, device.sequence(*prepared, sequence_options));
  WM_ASSIGN(const WarmupResult warm, warm_up(device, *sequence, sets, options.warmup));
  run.warmup = warm.warmup;
  run.timing.launches_per_sample = launches_per_sample(warm.seconds_per_launch, timer);
  if (run.timing.launches_per_sample > 1) {
    sequence_options.launches = static_cast<std::size_t>(run.timing.launches_per_sample);
    WM_ASSIGN(sequence, device.sequence(*prepared, sequence_options));
    run.notes.emplace_back("batched", fmt::format("{} launches a sample, as one is shorter than {:.0f} timer steps",
                                                  run.timing.launches_per_sample, kResolutions));
  }

  WM_TRY(prepared->poison());
  WM_TRY(device.synchronize());
  Measured measured;
  WM_ASSIGN(measured.before, device.conditions());
  measured.begin_ns = monotonic_ns();
  WM_ASSIGN(const TimedPhase phase, sample(*sequence, sets, run.timing, warm.next_set, options));
  measured.end_ns = monotonic_ns();
  WM_ASSIGN(measured.after, device.conditions());
  measured.samples = static_cast<std::int64_t>(phase.rule.samples().size());
  measured.host_clock = sequence_options.host_clock;
  if (phase.interrupted) {
    run.outcome = Outcome::skipped;
    run.reason = "interrupted";
    return {};
  }

  run.outcome = Outcome::passed;
  run.stopped_because = phase.rule.reason();
  run.stop_cause = phase.rule.cause();
  run.converged = phase.rule.converged();
  for (const auto& note : prepared->notes()) run.notes.push_back(note);
  add_time_metrics(run, phase.rule.samples());
  // A captured graph starts its rotation at set 0 every time.
  const std::size_t first_set = what.mode == Mode::graph ? 0 : warm.next_set;
  TimedPhase written = phase;
  if (what.mode == Mode::graph) {
    written.next_set = static_cast<std::size_t>(run.timing.launches_per_sample) % sets;
  }
  if (options.check) WM_TRY(check_outputs(run, *prepared, first_set, written, sets));
  judge(run, device, measured, options);
  if (options.energy_s > 0 && run.outcome != Outcome::failed) {
    WM_ASSIGN(const auto energy, energy_per_launch(device, *prepared, sets, options.energy_s));
    if (energy) run.metrics.push_back(stats::sampled_metric("energy", "J", Better::lower, {*energy}));
  }
  return {};
}

/// Order of gravity: what a merged run must not hide.
int gravity(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed: return 0;
    case Outcome::unreliable: return 1;
    case Outcome::skipped: return 2;
    case Outcome::unsupported: return 3;
    case Outcome::error: return 4;
    case Outcome::failed: return 5;
  }
  return 5;
}

void merge_metric(Run& merged, const Metric& more) {
  for (auto& metric : merged.metrics) {
    if (metric.id != more.id) continue;
    metric.samples.insert(metric.samples.end(), more.samples.begin(), more.samples.end());
    metric.round_sizes.insert(metric.round_sizes.end(), more.round_sizes.begin(), more.round_sizes.end());
    return;
  }
  merged.metrics.push_back(more);
}

void merge_environment(Environment& merged, const Environment& more) {
  for (const auto& disturbance : more.disturbances) {
    auto same = std::find_if(merged.disturbances.begin(), merged.disturbances.end(),
                             [&](const auto& known) { return known.id == disturbance.id; });
    if (same == merged.disturbances.end()) {
      merged.disturbances.push_back(disturbance);
    } else if (disturbance.invalidates && !same->invalidates) {
      *same = disturbance;
    }
  }
  for (const auto& reading : more.readings) {
    auto same = std::find_if(merged.readings.begin(), merged.readings.end(),
                             [&](const auto& known) { return known.id == reading.id; });
    if (same == merged.readings.end()) {
      merged.readings.push_back(reading);
    } else {
      same->after = reading.after;
    }
  }
}

void merge_round(Run& merged, const Run& round) {
  if (gravity(round.outcome) > gravity(merged.outcome)) {
    merged.outcome = round.outcome;
    merged.reason = round.reason;
    merged.hint = round.hint;
    merged.fault = round.fault;
  }
  for (const auto& metric : round.metrics) merge_metric(merged, metric);
  if (round.error && (!merged.error || !(round.error->value <= merged.error->value))) merged.error = round.error;
  merge_environment(merged.environment, round.environment);
  merged.warmup.launches += round.warmup.launches;
  merged.warmup.seconds += round.warmup.seconds;
  if (merged.warmup.settled && !round.warmup.settled) merged.warmup.reason = round.warmup.reason;
  merged.warmup.settled = merged.warmup.settled && round.warmup.settled;
  merged.timing.launches_per_sample = std::max(merged.timing.launches_per_sample, round.timing.launches_per_sample);
  for (const auto& note : round.notes) {
    if (std::find(merged.notes.begin(), merged.notes.end(), note) == merged.notes.end()) merged.notes.push_back(note);
  }
  merged.rounds += round.rounds;
}

/// One sentence for all rounds: what ended most of them, and what the samples of all of them support together.
std::string stopped_because(std::span<const Run* const> rounds, const Run& merged, const StoppingOptions& stopping) {
  std::map<std::string, int> causes;
  for (const Run* round : rounds) {
    const std::string& cause = round->stop_cause.empty() ? round->stopped_because : round->stop_cause;
    if (!cause.empty()) ++causes[cause];
  }
  if (causes.empty() || rounds.size() == 1) return rounds.front()->stopped_because;
  const auto most =
      std::max_element(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (merged.converged || merged.metrics.empty()) return most->first;
  const double half_width = relative_half_width(merged.metrics.front().samples, stopping.confidence);
  return fmt::format("{} in {} of {} rounds; interval of the median over all is ±{:.2g} %, target ±{:.2g} %",
                     most->first, most->second, rounds.size(), half_width * 100, stopping.half_width * 100);
}

}  // namespace

Run failed_run(Run run, const Error& error) {
  run.outcome = error.kind == ErrorKind::unsupported ? Outcome::unsupported : Outcome::error;
  if (run.outcome == Outcome::error) run.fault = error.kind;
  run.out_of_memory = error.code == ErrorCode::out_of_memory;
  run.reason = error.what;
  run.hint = error.hint;
  run.metrics.clear();
  return run;
}

Run measure_round(const Case& what, device::Device& device, const RoundOptions& options) {
  Run run;
  run.workload = what.workload->id;
  run.params = what.params;
  run.device = device.info().id;
  run.mode = what.mode;
  run.seed = options.seed;
  run.rounds = 1;
  run.started = format_utc(wall_clock_s());
  const Status status = what.workload->measure != nullptr ? what.workload->measure(what, device, options, run)
                                                          : measure(run, what, device, options);
  return status.ok() ? run : failed_run(std::move(run), status.error());
}

Result<std::size_t> sets_for(Mode mode, const Cost& cost, const DeviceInfo& device) {
  if (mode == Mode::hot || cost.footprint_bytes <= 0) return std::size_t{1};
  const std::int64_t enough = 2 * device.last_level_cache_bytes;
  if (cost.footprint_bytes > enough) return std::size_t{1};  // one launch evicts its own inputs
  const auto sets = static_cast<std::size_t>(enough / cost.footprint_bytes) + 1;
  if (sets > kMostSets) {
    return unsupported_error(
        fmt::format(
            "{} mode needs {} input sets of {} bytes to exceed twice the {} bytes of last-level cache, more than {}",
            name_of(mode), sets, cost.footprint_bytes, device.last_level_cache_bytes, kMostSets),
        "use --set mode=hot, or a larger shape");
  }
  return sets;
}

std::int64_t launches_per_sample(double seconds_per_launch, const device::TimerInfo& timer) {
  const double shortest = kResolutions * timer.resolution_s;
  if (seconds_per_launch >= shortest || shortest <= 0) return 1;
  if (seconds_per_launch * static_cast<double>(kMostLaunchesPerSample) <= shortest) return kMostLaunchesPerSample;
  return static_cast<std::int64_t>(std::ceil(shortest / seconds_per_launch));
}

Result<Mode> take_mode(Overrides& overrides, Mode default_mode) {
  Mode mode = default_mode;
  Overrides kept;
  for (const auto& [name, text] : overrides) {
    if (name != "mode") {
      kept.emplace_back(name, text);
      continue;
    }
    const auto parsed = value_named<Mode>(text);
    if (!parsed) return usage_error("mode cannot be '" + text + "'", "allowed: cold, hot, graph");
    mode = *parsed;
  }
  overrides = std::move(kept);
  return mode;
}

Run merge_rounds(std::span<const Run> rounds, const StoppingOptions& stopping) {
  WM_CHECK(!rounds.empty());
  // Rounds skipped for want of time or by Ctrl-C take nothing from the rounds that were measured.
  const bool any_measured =
      std::any_of(rounds.begin(), rounds.end(), [](const Run& round) { return round.outcome != Outcome::skipped; });
  std::vector<const Run*> used;
  for (const Run& round : rounds) {
    if (!any_measured || round.outcome != Outcome::skipped) used.push_back(&round);
  }
  Run merged = *used.front();
  for (std::size_t i = 1; i < used.size(); ++i) merge_round(merged, *used[i]);
  if (!is_measured(merged.outcome)) merged.metrics.clear();
  for (auto& metric : merged.metrics) metric.summary = stats::summarize(metric.samples, stopping.confidence);
  if (!merged.metrics.empty()) {
    merged.converged = relative_half_width(merged.metrics.front().samples, stopping.confidence) <= stopping.half_width;
  }
  merged.stopped_because = stopped_because(used, merged, stopping);
  return merged;
}

}  // namespace warpmark::measure
