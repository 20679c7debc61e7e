#include "validate/compare/compare_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "model/auxiliary.h"
#include "model/run_query.h"
#include "stats/summary.h"
#include "validate/compare/environment_guard.h"

namespace warpmark::validate {
namespace {

bool paired(const AbOptions& options) { return options.schedule.interleave != Interleave::none; }
bool sequential(const AbOptions& options) { return paired(options) && options.stop_early; }

double value_of(const Run& run, const std::string& id) {
  const Metric* metric = metric_of(run, id);
  WM_CHECK(metric != nullptr);
  return stats::median(metric->samples);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Rounds in which both variants are complete. Of an unpaired schedule all samples count.
std::int64_t complete_rounds(const std::vector<AbSample>& samples, const AbOptions& options) {
  if (!paired(options)) return options.schedule.rounds;
  std::int64_t rounds = 0;
  for (const auto& sample : samples) rounds += sample.slot.ends_round ? 1 : 0;
  return rounds;
}

/// One value a round and variant: the median of the variant's runs in it.
std::vector<double> values_by_round(const std::vector<AbSample>& samples, int variant, std::int64_t rounds,
                                    const std::string& metric) {
  std::map<std::int64_t, std::vector<double>> by_round;
  for (const auto& sample : samples) {
    if (sample.slot.variant == variant && sample.slot.round < rounds) {
      by_round[sample.slot.round].push_back(value_of(sample.run, metric));
    }
  }
  std::vector<double> values;
  for (const auto& [round, runs] : by_round) values.push_back(stats::median(runs));
  return values;
}

/// Whether a metric is judged by a gate, and not by its ratio.
bool gated(const std::string& metric, const AbOptions& options) {
  for (std::size_t i = 0; i < options.accuracy.size(); ++i) {
    if (metric == options.accuracy[i].metric || metric == check_metric(i)) return true;
  }
  return false;
}

/// Metrics that all samples have, in the order of the first one; without those of gates.
std::vector<MetricVerdict> common_metrics(const std::vector<AbSample>& samples, const AbOptions& options) {
  std::vector<MetricVerdict> metrics;
  for (const auto& metric : samples.empty() ? std::vector<Metric>{} : samples.front().run.metrics) {
    if (gated(metric.id, options)) continue;
    const bool everywhere = std::all_of(samples.begin(), samples.end(), [&](const AbSample& sample) {
      return metric_of(sample.run, metric.id) != nullptr;
    });
    if (!everywhere) continue;
    metrics.push_back({.id = metric.id, .unit = metric.unit, .better = metric.better});
    metrics.back().auxiliary = is_auxiliary(metric.id) && !contains(options.declared, metric.id);
  }
  return metrics;
}

/// CPU time tells something beside wall time where most of the time is the CPU's: of the run that waited least for one.
bool is_work_of_the_cpu(const std::vector<MetricVerdict>& metrics) {
  const auto named = [&](std::string_view id) {
    return std::find_if(metrics.begin(), metrics.end(), [&](const auto& metric) { return metric.id == id; });
  };
  const auto cpu = named(kProcessorTime), wall = named("time");
  if (cpu == metrics.end() || wall == metrics.end()) return true;
  constexpr double kMostOfTheTime = 0.5;
  const auto busiest = [](const std::vector<double>& used, const std::vector<double>& taken) {
    double share = 0;
    for (std::size_t i = 0; i < std::min(used.size(), taken.size()); ++i) share = std::max(share, used[i] / taken[i]);
    return share;
  };
  return busiest(cpu->a, wall->a) >= kMostOfTheTime && busiest(cpu->b, wall->b) >= kMostOfTheTime;
}

std::optional<double> reading_of(const Run& run, std::string_view id) {
  for (const auto& reading : run.environment.readings) {
    if (reading.id == id) return reading.after;
  }
  return std::nullopt;
}

/// How much a run was disturbed, in shares of its time: taken by the hypervisor, spent waiting for a CPU (anybody), and
/// spent by the program without one.
std::optional<double> disturbance_of(const Run& run) {
  const auto steal = reading_of(run, "steal"), wait = reading_of(run, "cpu_wait"), cpus = reading_of(run, "cpus_used");
  if (!steal && !wait && !cpus) return std::nullopt;
  return steal.value_or(0) + wait.value_or(0) + 1 - std::min(1.0, cpus.value_or(1));
}

std::vector<VariantSample> samples_taken(const std::vector<AbSample>& samples,
                                         const std::vector<MetricVerdict>& metrics) {
  std::vector<VariantSample> taken;
  for (const auto& sample : samples) {
    taken.push_back({.variant = sample.slot.variant,
                     .round = sample.slot.round,
                     .started = sample.run.started,
                     .values = {},
                     .disturbance = disturbance_of(sample.run)});
    for (const auto& metric : metrics) taken.back().values.push_back(value_of(sample.run, metric.id));
  }
  return taken;
}

/// Of each round the sum over the runs of both variants, so that it favours neither.
std::vector<double> disturbances_by_round(const std::vector<VariantSample>& samples, std::int64_t rounds) {
  std::vector<double> sums(static_cast<std::size_t>(rounds));
  bool any = false;
  for (const auto& sample : samples) {
    if (sample.round >= rounds) continue;
    any = any || sample.disturbance;
    sums[static_cast<std::size_t>(sample.round)] += sample.disturbance.value_or(0);
  }
  return any ? sums : std::vector<double>();
}

/// By the values, samples and disturbances that are there.
void judge_metrics(Comparison& comparison, std::int64_t affordable_rounds, bool explain, bool with_tests) {
  const auto disturbances = disturbances_by_round(comparison.samples, comparison.paired ? comparison.rounds : 0);
  judge(comparison.metrics,
        {.effect = comparison.effect,
         .alpha = comparison.alpha,
         .paired = comparison.paired,
         .sequential = comparison.sequential,
         .seed = comparison.seed,
         .explain = explain,
         .disturbances = disturbances,
         .affordable_rounds = affordable_rounds},
        with_tests);
}

void distrust(Comparison& comparison) {
  if (comparison.disturbances.empty()) return;
  for (auto& metric : comparison.metrics) {
    metric.verdict = Verdict::unreliable;
    metric.reason = comparison.disturbances.front().cause;
  }
}

std::vector<Environment> environments(const std::vector<AbSample>& samples, int variant) {
  std::vector<Environment> result;
  for (const auto& sample : samples) {
    if (sample.slot.variant == variant) result.push_back(sample.run.environment);
  }
  return result;
}

/// Each run's value of one metric, of variant by variant.
std::vector<double> values_by_run(const std::vector<AbSample>& samples, int variant, const std::string& metric) {
  std::vector<double> values;
  for (const auto& sample : samples) {
    if (sample.slot.variant == variant && metric_of(sample.run, metric) != nullptr) {
      values.push_back(value_of(sample.run, metric));
    }
  }
  return values;
}

/// The check's own words about the first run of B that it found wrong.
void add_what_was_said(const std::vector<AbSample>& samples, const std::string& id, AccuracyVerdict& verdict) {
  for (const auto& sample : samples) {
    if (sample.slot.variant != 1) continue;
    for (const auto& [name, said] : sample.run.notes) {
      if (name != id || said.empty()) continue;
      verdict.reason += "; the check said: " + said;
      return;
    }
  }
}

/// Gates look at rounds as the metrics do; a command's answers count one by one.
std::vector<AccuracyVerdict> judge_gates(const std::vector<AbSample>& samples, const AbOptions& options,
                                         std::int64_t rounds) {
  std::vector<AccuracyVerdict> verdicts;
  const VerdictOptions how{
      .effect = options.effect, .alpha = options.alpha, .paired = paired(options), .sequential = sequential(options)};
  for (std::size_t i = 0; i < options.accuracy.size(); ++i) {
    const auto& gate = options.accuracy[i];
    const std::string id = gate.metric.empty() ? check_metric(i) : gate.metric;
    const bool everywhere = std::all_of(samples.begin(), samples.end(),
                                        [&](const AbSample& sample) { return metric_of(sample.run, id) != nullptr; });
    std::vector<double> a, b;
    Metric metric;
    if (everywhere && !samples.empty()) {
      metric = *metric_of(samples.front().run, id);
      const bool command = gate.metric.empty();
      a = command ? values_by_run(samples, 0, id) : values_by_round(samples, 0, rounds, id);
      b = command ? values_by_run(samples, 1, id) : values_by_round(samples, 1, rounds, id);
    }
    verdicts.push_back(judge_accuracy(gate, metric, a, b, how));
    if (gate.metric.empty()) add_what_was_said(samples, id, verdicts.back());
  }
  return verdicts;
}

/// Nothing left to learn: every metric has a verdict, or cannot have one, and so have the gates; or B is rejected.
bool decided(const Comparison& comparison) {
  if (rejecting_gate(comparison) != nullptr) return true;
  const bool open = std::any_of(comparison.accuracy.begin(), comparison.accuracy.end(),
                                [](const auto& gate) { return gate.outcome == AccuracyOutcome::inconclusive; });
  return !open && !comparison.metrics.empty() &&
         std::all_of(comparison.metrics.begin(), comparison.metrics.end(), [](const MetricVerdict& metric) {
           return metric.auxiliary || metric.verdict != Verdict::inconclusive || !metric.ratio;
         });
}

class AbRunner {
 public:
  AbRunner(const Variant& a, const Variant& b, const AbOptions& options, const AbEvents& events)
      : variants_{&a, &b}, options_(options), events_(events) {}

  Result<AbOutcome> run(std::vector<AbSample> known) {
    outcome_.samples = std::move(known);
    known_ = next_slot();
    WM_TRY(check_known());
    begin_s_ = now_s();
    Stop end = stop();
    if (end.reason.empty()) {
      WM_TRY(warm_up());
      end = stop();
    }
    while (end.reason.empty()) {
      WM_TRY(run_slot());
      end = stop();
    }
    AbOptions final_analysis = options_;
    final_analysis.affordable_rounds = affordable_rounds();
    outcome_.comparison = judge_samples(outcome_.samples, final_analysis, true);
    if (outcome_.comparison.metrics.empty() && !outcome_.samples.empty()) {
      return data_error("the variants have no metric in common");
    }
    outcome_.comparison.name_a = variants_[0]->name;
    outcome_.comparison.name_b = variants_[1]->name;
    outcome_.comparison.stopped_because = end.reason;
    outcome_.comparison.decided = end.decided;
    outcome_.complete = !interrupted();
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] double now_s() const {
    return events_.clock_s ? events_.clock_s() : static_cast<double>(monotonic_ns()) * 1e-9;
  }
  /// Rounds that the budget is enough for, as fast as they went; 0 without one.
  [[nodiscard]] std::int64_t affordable_rounds() const {
    const auto taken = next_slot() - known_;
    if (options_.budget_s <= 0 || taken <= 0) return 0;
    const double slots = options_.budget_s * static_cast<double>(taken) / std::max(1e-9, now_s() - begin_s_);
    return static_cast<std::int64_t>(slots * static_cast<double>(options_.schedule.rounds) /
                                     static_cast<double>(options_.schedule.slots()));
  }
  [[nodiscard]] bool interrupted() const { return options_.interrupted != nullptr && options_.interrupted->load(); }
  [[nodiscard]] std::int64_t next_slot() const { return static_cast<std::int64_t>(outcome_.samples.size()); }

  [[nodiscard]] Status check_known() const {
    const auto known = next_slot();
    if (known > options_.schedule.slots()) return data_error("there are more samples than the comparison has runs");
    for (std::int64_t i = 0; i < known; ++i) {
      const Slot planned = options_.schedule.slot(i), found = outcome_.samples[static_cast<std::size_t>(i)].slot;
      if (planned.variant != found.variant || planned.round != found.round) {
        return data_error(fmt::format("sample {} is of another schedule", i), "start the comparison again");
      }
    }
    return {};
  }

  /// Empty while another run is needed.
  struct Stop {
    std::string reason;  ///< empty: it goes on
    bool decided = false;
  };
  [[nodiscard]] Stop stop() const {
    if (interrupted()) return {"interrupted"};
    const auto done = next_slot();
    const bool between_rounds = done == 0 || outcome_.samples.back().slot.ends_round;
    if (done == options_.schedule.slots()) return {fmt::format("all {} rounds were run", options_.schedule.rounds)};
    if (!between_rounds) return {};
    if (sequential(options_) && done > 0) {
      const auto comparison = judge_samples(outcome_.samples, options_, false);
      if (decided(comparison)) return {fmt::format("decided after {} rounds", comparison.rounds), true};
    }
    if (options_.budget_s > 0 && now_s() - begin_s_ >= options_.budget_s) {
      return {fmt::format("the budget of {:.3g} s was used up", options_.budget_s)};
    }
    return {};
  }

  Status warm_up() {
    for (std::int64_t i = 0; i < options_.warmup_runs && !interrupted(); ++i) {
      for (const Variant* variant : variants_) WM_TRY(run_variant(*variant));
    }
    return {};
  }

  [[nodiscard]] Result<Run> run_variant(const Variant& variant) const {
    auto run = variant.experiment->run(variant.config);
    if (!run.ok()) {
      return Error{run.error().kind, variant.name + ": " + run.error().what, run.error().hint, run.error().code};
    }
    if (!is_measured(run->outcome)) {
      return data_error(variant.name + " could not be measured: " + run->reason, run->hint);
    }
    return run;
  }

  Status run_slot() {
    const Slot slot = options_.schedule.slot(next_slot());
    auto run = run_variant(*variants_[slot.variant]);
    if (!run.ok()) {
      if (interrupted()) return {};  // the run was ended by Ctrl-C; what is complete counts
      return run.error();
    }
    AbSample sample{slot, std::move(*run)};
    if (events_.sample_done) WM_TRY(events_.sample_done(sample));
    outcome_.samples.push_back(std::move(sample));
    if (events_.progress) events_.progress(next_slot(), options_.schedule.slots());
    return {};
  }

  const Variant* variants_[2];
  const AbOptions& options_;
  const AbEvents& events_;
  AbOutcome outcome_;
  std::int64_t known_ = 0;  ///< samples of an interrupted comparison
  double begin_s_ = 0;
};

}  // namespace

Comparison judge_samples(const std::vector<AbSample>& samples, const AbOptions& options, bool final) {
  Comparison comparison;
  comparison.effect = options.effect;
  comparison.alpha = options.alpha;
  comparison.paired = paired(options);
  comparison.sequential = sequential(options);
  comparison.interleave = options.schedule.interleave;
  comparison.seed = options.schedule.seed;
  comparison.rounds = complete_rounds(samples, options);
  comparison.metrics = common_metrics(samples, options);
  for (auto& metric : comparison.metrics) {
    metric.a = values_by_round(samples, 0, comparison.rounds, metric.id);
    metric.b = values_by_round(samples, 1, comparison.rounds, metric.id);
  }
  if (!is_work_of_the_cpu(comparison.metrics)) {
    std::erase_if(comparison.metrics, [](const auto& metric) { return metric.id == kProcessorTime; });
  }
  comparison.samples = samples_taken(samples, comparison.metrics);
  judge_metrics(comparison, options.affordable_rounds > 0 ? options.affordable_rounds : options.schedule.rounds, final,
                final && options.further_tests);
  comparison.accuracy = judge_gates(samples, options, comparison.rounds);
  if (!final) return comparison;
  comparison.disturbances = compare_environments(environments(samples, 0), environments(samples, 1));
  distrust(comparison);
  return comparison;
}

void judge_again(Comparison& comparison, double effect, double alpha) {
  if (effect == comparison.effect && alpha == comparison.alpha) return;
  comparison.effect = effect;
  comparison.alpha = alpha;
  judge_metrics(comparison, comparison.rounds, true, true);
  distrust(comparison);
}

Result<AbOutcome> run_ab(const Variant& a, const Variant& b, const AbOptions& options, std::vector<AbSample> known,
                         const AbEvents& events) {
  WM_CHECK(a.experiment != nullptr && b.experiment != nullptr && options.schedule.rounds >= 1);
  return AbRunner(a, b, options, events).run(std::move(known));
}

}  // namespace warpmark::validate
