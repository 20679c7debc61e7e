#include "validate/scaling/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/units.h"
#include "model/auxiliary.h"
#include "model/run_query.h"
#include "stats/random.h"
#include "stats/scaling_fit.h"
#include "stats/summary.h"
#include "stats/tests/rank_and_t_tests.h"

namespace warpmark::validate {
namespace {

double throughput_of(const ScalingRun& run) {
  return run.throughput.value_or(run.seconds > 0 ? run.work / run.seconds : 0);
}

double mean_log(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

/// Ratio of two throughputs with its interval: by rounds where both were measured in the same ones.
Ranged ratio_of(const std::vector<std::pair<int, double>>& first, const std::vector<std::pair<int, double>>& second) {
  std::vector<double> a, b, paired_a, paired_b;
  for (const auto& [round, value] : first) a.push_back(value);
  for (const auto& [round, value] : second) b.push_back(value);
  Ranged ratio{std::exp(mean_log(b) - mean_log(a)), std::nullopt};
  for (const auto& [round, value] : first) {
    for (const auto& [other, other_value] : second) {
      if (round != other) continue;
      paired_a.push_back(std::log(value));
      paired_b.push_back(std::log(other_value));
    }
  }
  if (paired_a.size() < 2) return ratio;
  const auto test = stats::paired_t(paired_a, paired_b);
  ratio.interval = Interval{std::exp(test.interval.low), std::exp(test.interval.high), 0.95};
  return ratio;
}

Ranged scaled(Ranged ranged, double factor) {
  ranged.value *= factor;
  if (ranged.interval) ranged.interval->low *= factor, ranged.interval->high *= factor;
  return ranged;
}

std::string usual_text(int workers, double efficiency) {
  const auto band = usual_efficiency(workers);
  if (!band) return {};
  const char* where = efficiency < band->first ? "below" : efficiency > band->second ? "above" : "within";
  return fmt::format("{} the usual {:.0f}-{:.0f} %", where, band->first * 100, band->second * 100);
}

std::vector<std::pair<std::string, double>> medians_of_parts(const std::vector<const ScalingRun*>& runs) {
  std::vector<std::pair<std::string, double>> parts;
  std::map<std::string, std::vector<double>> values;
  for (const auto* run : runs) {
    for (const auto& [name, value] : run->parts) values[name].push_back(value);
  }
  for (const auto& [name, some] : values) parts.emplace_back(name, stats::median(some));
  return parts;
}

void add_energy(const std::vector<const ScalingRun*>& runs, ScalingPoint& point) {
  std::vector<double> per_work;
  for (const auto* run : runs) {
    const double work = throughput_of(*run) * run->seconds;
    if (run->joules && work > 0) per_work.push_back(*run->joules / work);
  }
  if (per_work.empty()) return;
  point.energy_per_work_j = Ranged{stats::median(per_work), stats::median_interval(per_work)};
  if (point.energy_per_work_j->value > 0) point.work_per_joule = 1 / point.energy_per_work_j->value;
}

ScalingPoint point_of(int workers, const std::vector<const ScalingRun*>& runs) {
  ScalingPoint point{.workers = workers};
  std::vector<double> memory, gpu_memory, gpu_utilization;
  for (const auto* run : runs) {
    point.throughput.push_back(throughput_of(*run));
    point.seconds.push_back(run->seconds);
    if (run->joules) point.joules.push_back(*run->joules);
    memory.push_back(run->peak_memory_bytes);
    if (run->gpu_memory_bytes) gpu_memory.push_back(*run->gpu_memory_bytes);
    if (run->gpu_utilization) gpu_utilization.push_back(*run->gpu_utilization);
  }
  if (point.joules.size() < runs.size()) point.joules.clear();
  point.median = stats::median(point.throughput);
  if (stats::median(memory) > 0) point.peak_memory_bytes = stats::median(memory);
  if (!gpu_memory.empty()) point.gpu_memory_bytes = stats::median(gpu_memory);
  if (!gpu_utilization.empty()) point.gpu_utilization = stats::median(gpu_utilization);
  point.parts = medians_of_parts(runs);
  add_energy(runs, point);
  return point;
}

constexpr double kFarOff = 0.03;       // of a mean from a law that holds all the same
constexpr double kSignificant = 0.01;  // of lack of fit
constexpr double kAlsoPossible = 10;  // of AICc above the best: no support at all beyond (Burnham, Anderson, table 2.6)
constexpr double kFurthestPeak = 4;   // times the most workers that were measured

/// Why a law does not describe what was measured: it is further off than repetitions differ, and by more than matters.
std::string misfit(const stats::ScalingFit& fit, const Scaling& scaling) {
  const auto& [workers, off] =
      *std::ranges::max_element(fit.off, {}, [](const auto& one) { return std::abs(one.second); });
  // Without repetitions noise and lack of fit look alike: then only what is far off counts.
  const bool repeated = fit.lack_of_fit_p < 1;
  const bool wrong =
      repeated ? fit.lack_of_fit_p < kSignificant && std::abs(off) > kFarOff : std::abs(off) > 3 * kFarOff;
  if (!wrong) return {};
  return fmt::format("does not describe what was measured: {} off with {}", format_percent(std::abs(off)),
                     scaling.workers(static_cast<int>(workers)));
}

ScalingLawFit law_fit_of(const stats::ScalingFit& fit, const std::string& reason) {
  ScalingLawFit shown{.law = stats::name_of(fit.law), .residual = fit.residual, .reason = reason};
  const char* const names[] = {fit.law == stats::ScalingLaw::usl ? "contention" : "serial fraction", "exchange"};
  for (std::size_t i = 0; reason.empty() && i < fit.parameters.size(); ++i) {
    shown.parameters.emplace_back(names[i], Ranged{fit.parameters[i], fit.intervals[i]});
  }
  for (const auto& [workers, off] : fit.off) shown.off.emplace_back(static_cast<int>(workers), off);
  return shown;
}

/// A forecast of the best law, with an interval that holds those of every law that the measurements leave possible.
/// Speedups are against the fewest workers times their number, as those measured are.
ScalingForecast forecast_of(const std::vector<stats::ScalingFit>& possible, int workers, int fewest) {
  Ranged reported;
  for (const auto& fit : possible) {
    const double base = fewest / stats::speed_up(fit.law, fit.parameters, fewest);
    const auto next = stats::forecast(fit, workers);
    Interval interval = next.interval;
    interval.low *= base, interval.high *= base;
    if (!reported.interval) reported = {next.speed_up * base, interval};
    reported.interval->low = std::min(reported.interval->low, interval.low);
    reported.interval->high = std::max(reported.interval->high, interval.high);
  }
  return {workers, stats::name_of(possible.front().law), reported, reported.value / workers};
}

/// The law of the mode and the USL. Of those that describe the measurements the one with the lowest AICc forecasts.
void fit_laws(const std::vector<ScalingRun>& runs, Scaling& scaling) {
  std::vector<stats::ScalingSample> samples;
  for (const auto& run : runs) {
    if (throughput_of(run) > 0) samples.push_back({static_cast<double>(run.workers), throughput_of(run)});
  }
  const bool strong = scaling.mode == "strong";
  std::vector<stats::ScalingFit> possible;
  bool fitted = false;
  for (const auto law : {strong ? stats::ScalingLaw::amdahl : stats::ScalingLaw::gustafson, stats::ScalingLaw::usl}) {
    auto fit = stats::fit_scaling(law, samples);
    const std::string reason = fit.ok() ? misfit(fit, scaling) : fit.reason;
    fitted = fitted || fit.ok();
    scaling.fits.push_back(law_fit_of(fit, reason));
    if (reason.empty()) possible.push_back(std::move(fit));
  }
  if (possible.empty()) {
    scaling.no_forecast = fitted ? "No law describes these measurements, so that nothing is forecast."
                                 : "Measure more numbers of " + scaling.worker + "s for a forecast.";
    return;
  }
  std::ranges::stable_sort(possible, {}, &stats::ScalingFit::aicc);
  const double best = possible.front().aicc;
  for (auto& shown : scaling.fits) {
    const auto found =
        std::ranges::find_if(possible, [&](const auto& fit) { return stats::name_of(fit.law) == shown.law; });
    if (found == possible.end() || !std::isfinite(found->aicc)) continue;
    shown.aicc = found->aicc - best;
  }
  std::ranges::find(scaling.fits, stats::name_of(possible.front().law), &ScalingLawFit::law)->chosen = true;
  std::erase_if(possible, [&](const auto& fit) { return fit.aicc > best + kAlsoPossible; });
  int most = 1, fewest = std::numeric_limits<int>::max();
  for (const auto& run : runs) most = std::max(most, run.workers), fewest = std::min(fewest, run.workers);
  const auto peak = stats::usl_peak(possible.front());
  if (peak && *peak <= kFurthestPeak * most) scaling.peak_workers = peak;
  for (const int workers : {32, 64, 128, 256, 512, 1024}) {
    if (workers > most) scaling.forecasts.push_back(forecast_of(possible, workers, fewest));
  }
}

/// Recorded parts count where the command tells none.
void add_profile(const std::vector<ProfiledRun>& profiles, ScalingPoint& point) {
  const auto found = std::find_if(profiles.begin(), profiles.end(),
                                  [&](const auto& profile) { return profile.workers == point.workers; });
  if (found == profiles.end()) return;
  point.profile = found->shares;
  point.profile_problem = found->problem;
  if (!point.profile) return;
  const auto add = [&](const char* name, double value) {
    const bool reported =
        std::any_of(point.parts.begin(), point.parts.end(), [&](const auto& part) { return part.first == name; });
    if (!reported) point.parts.emplace_back(name, value);
  };
  // A step that the command tells is not the recorded one: its communication is no part of that.
  const bool own_step =
      std::any_of(point.parts.begin(), point.parts.end(), [](const auto& part) { return part.first == "step"; });
  add("loading", point.profile->loading_host_s.value_or(point.profile->loading_s));
  if (!own_step) add("communication", point.profile->communication_s), add("step", point.profile->step_s);
  add("utilization", point.profile->utilization);
}

const double* part_of(const ScalingPoint& point, const std::string& name) {
  const auto found =
      std::find_if(point.parts.begin(), point.parts.end(), [&](const auto& part) { return part.first == name; });
  return found == point.parts.end() ? nullptr : &found->second;
}

/// Three tests that name the usual causes: loading that takes half as long again as with one worker, communication
/// above three tenths of the step, GPUs used below eight tenths.
void find_causes(Scaling& scaling) {
  if (scaling.points.empty()) return;
  const auto& one = scaling.points.front();
  for (const auto& point : scaling.points) {
    const double* loading = part_of(point, "loading");
    const double* loading_of_one = part_of(one, "loading");
    const double* step = part_of(point, "step");
    const bool matters = loading != nullptr && (step == nullptr || *loading > 0.01 * *step);
    if (matters && loading_of_one != nullptr && *loading > 1.5 * *loading_of_one) {
      const std::string times = *loading_of_one > 0 ? format_significant(*loading / *loading_of_one, 3) + " times that"
                                                    : "beyond the nothing";
      scaling.causes.push_back(fmt::format("data loading: {} with {}, {} of {} (limit 1.5)", format_seconds(*loading),
                                           scaling.workers(point.workers), times, one.workers));
    }
    const double* communication = part_of(point, "communication");
    if (communication != nullptr && step != nullptr && *step > 0 && *communication > 0.3 * *step) {
      scaling.causes.push_back(fmt::format("communication: {} of the step with {} (limit 30 %)",
                                           format_percent(*communication / *step), scaling.workers(point.workers)));
    }
    const double* reported = part_of(point, "utilization");
    const auto utilization = reported != nullptr ? std::optional(*reported) : point.gpu_utilization;
    if (utilization && *utilization < 0.8) {
      scaling.causes.push_back(fmt::format("utilization: {} with {} (limit 80 %)", format_percent(*utilization),
                                           scaling.workers(point.workers)));
    }
  }
}

const char* worker_parameter(const Run& run) {
  if (run.workload != "command" || !run.params.has("mode")) return nullptr;
  for (const char* name : {"gpus", "ranks"}) {
    if (run.params.has(name)) return name;
  }
  return nullptr;
}

std::optional<double> only_sample(const Run& run, std::string_view id) {
  const Metric* metric = metric_of(run, id);
  return metric != nullptr && metric->samples.size() == 1 ? std::optional(metric->samples[0]) : std::nullopt;
}

void add_rounds(const Run& run, int workers, std::vector<ScalingRun>& runs) {
  const Metric *throughput = metric_of(run, "throughput"), *time = metric_of(run, "time");
  const Metric* joules = metric_of(run, kGpuEnergy);
  if (joules == nullptr) joules = metric_of(run, "energy");
  if (throughput == nullptr || time == nullptr) return;
  for (std::size_t i = 0; i < throughput->samples.size() && i < time->samples.size(); ++i) {
    ScalingRun one{.workers = workers, .round = static_cast<int>(i), .seconds = time->samples[i]};
    one.throughput = throughput->samples[i];
    if (joules != nullptr && i < joules->samples.size()) one.joules = joules->samples[i];
    one.gpu_memory_bytes = only_sample(run, kGpuPeakMemory);
    one.gpu_utilization = only_sample(run, kGpuUtilization);
    runs.push_back(std::move(one));
  }
}

}  // namespace

EfficiencyLoss efficiency_loss(const StepShares& fewest, const StepShares& many, double efficiency) {
  const auto lost = [&](double StepShares::*part) {
    return many.*part / many.step_s - efficiency * (fewest.*part / fewest.step_s);
  };
  return {lost(&StepShares::communication_s), lost(&StepShares::imbalance_s), lost(&StepShares::loading_s),
          lost(&StepShares::host_s), lost(&StepShares::rest_s)};
}

void judge_scaling(const std::vector<ScalingRun>& runs, Scaling& scaling, const std::vector<ProfiledRun>& profiles) {
  std::map<int, std::vector<const ScalingRun*>> by_workers;
  for (const auto& run : runs) {
    if (throughput_of(run) > 0) by_workers[run.workers].push_back(&run);
  }
  const auto rounds_of = [&](int workers) {
    std::vector<std::pair<int, double>> rounds;
    for (const auto* run : by_workers[workers]) rounds.emplace_back(run->round, throughput_of(*run));
    return rounds;
  };
  std::map<int, ScalingPoint> failed;
  for (auto& point : scaling.points) failed[point.workers] = std::move(point);
  scaling.points.clear();
  const int fewest = by_workers.empty() ? 1 : by_workers.begin()->first;
  for (const auto& [workers, some] : by_workers) {
    ScalingPoint point = point_of(workers, some);
    point.failures = failed[workers].failures;
    point.reason = failed[workers].reason;
    const Ranged ratio = workers == fewest ? Ranged{1, std::nullopt} : ratio_of(rounds_of(fewest), rounds_of(workers));
    point.speed_up = scaled(ratio, fewest);
    point.efficiency = scaled(ratio, static_cast<double>(fewest) / workers);
    point.grade = grade_of(point.efficiency);
    add_profile(profiles, point);
    const auto& base = scaling.points.empty() ? point : scaling.points.front();
    if (workers != fewest && base.profile && point.profile) {
      point.loss = efficiency_loss(*base.profile, *point.profile, point.efficiency.value);
    }
    if (scaling.worker == "GPU") point.usual = usual_text(workers, point.efficiency.value);
    scaling.points.push_back(std::move(point));
  }
  for (auto& [workers, point] : failed) {
    if (!by_workers.contains(workers) && point.failures > 0) scaling.points.push_back(std::move(point));
  }
  fit_laws(runs, scaling);
  find_causes(scaling);
}

std::string grade_of(const Ranged& efficiency) {
  const std::string grade = efficiency_grade(efficiency.value);
  if (!efficiency.interval) return grade;
  const std::string low = efficiency_grade(efficiency.interval->low),
                    high = efficiency_grade(efficiency.interval->high);
  return low == high ? grade : low + " to " + high;
}

const char* efficiency_grade(double efficiency) {
  if (efficiency > 0.9) return "excellent";
  if (efficiency >= 0.7) return "good";
  return efficiency >= 0.5 ? "moderate" : "poor";
}

std::optional<std::pair<double, double>> usual_efficiency(int workers) {
  if (workers == 2) return std::pair{0.90, 0.97};
  if (workers == 4) return std::pair{0.87, 0.95};
  if (workers == 8) return std::pair{0.85, 0.92};
  return std::nullopt;
}

std::vector<std::vector<int>> scaling_order(const std::vector<int>& workers, int rounds, std::uint64_t seed) {
  std::vector<std::vector<int>> order;
  stats::Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    order.push_back(workers);
    std::shuffle(order.back().begin(), order.back().end(), random);
  }
  return order;
}

std::optional<Scaling> scaling_of(const Session& session) {
  Scaling scaling{.id = session.id, .started = session.started, .command = session.command};
  std::vector<ScalingRun> runs;
  for (const Run& run : session.runs) {
    const char* parameter = worker_parameter(run);
    if (parameter == nullptr) continue;
    scaling.worker = std::string_view(parameter) == "gpus" ? "GPU" : "rank";
    scaling.mode = run.params.text("mode");
    scaling.seed = run.seed;
    if (const Metric* rate = metric_of(run, "throughput"); rate != nullptr && rate->unit.ends_with("/s")) {
      scaling.unit = rate->unit.substr(0, rate->unit.size() - 2);
    }
    add_rounds(run, static_cast<int>(run.params.integer(parameter)), runs);
  }
  scaling.machine = session.machine;
  scaling.build = session.build;
  scaling.complete = session.complete;
  judge_scaling(runs, scaling);
  return scaling.points.size() > 1 ? std::optional(std::move(scaling)) : std::nullopt;
}

}  // namespace warpmark::validate
