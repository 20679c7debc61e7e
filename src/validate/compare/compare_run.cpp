#include "validate/compare/compare_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "model/run_query.h"
#include "stats/summary.h"
#include "validate/compare/environment_guard.h"
#include "validate/judge/verdict.h"

namespace warpmark::validate {
namespace {

bool paired(const AbOptions& options) { return options.schedule.interleave != Interleave::none; }
bool sequential(const AbOptions& options) { return paired(options) && options.stop_early; }

double value_of(const Run& run, const std::string& id) {
  const Metric* metric = metric_of(run, id);
  WM_CHECK(metric != nullptr);
  return stats::median(metric->samples);
}

/// Rounds in which both arms are complete. Of an unpaired schedule all samples count.
std::int64_t complete_rounds(const std::vector<AbSample>& samples, const AbOptions& options) {
  if (!paired(options)) return options.schedule.rounds;
  std::int64_t rounds = 0;
  for (const auto& sample : samples) rounds += sample.slot.ends_round ? 1 : 0;
  return rounds;
}

/// One value a round and arm: the median of the arm's runs in it.
std::vector<double> values_by_round(const std::vector<AbSample>& samples, int arm, std::int64_t rounds,
                                    const std::string& metric) {
  std::map<std::int64_t, std::vector<double>> by_round;
  for (const auto& sample : samples) {
    if (sample.slot.arm == arm && sample.slot.round < rounds) {
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
    if (everywhere) metrics.push_back({.id = metric.id, .unit = metric.unit, .better = metric.better});
  }
  return metrics;
}

std::vector<Environment> environments(const std::vector<AbSample>& samples, int arm) {
  std::vector<Environment> result;
  for (const auto& sample : samples) {
    if (sample.slot.arm == arm) result.push_back(sample.run.environment);
  }
  return result;
}

/// Each run's value of one metric, of arm by arm.
std::vector<double> values_by_run(const std::vector<AbSample>& samples, int arm, const std::string& metric) {
  std::vector<double> values;
  for (const auto& sample : samples) {
    if (sample.slot.arm == arm && metric_of(sample.run, metric) != nullptr) {
      values.push_back(value_of(sample.run, metric));
    }
  }
  return values;
}

/// The check's own words about the first run of B that it found wrong.
void add_what_was_said(const std::vector<AbSample>& samples, const std::string& id, AccuracyVerdict& verdict) {
  for (const auto& sample : samples) {
    if (sample.slot.arm != 1) continue;
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
  if (accuracy_rejected(comparison)) return true;
  const bool open = std::any_of(comparison.accuracy.begin(), comparison.accuracy.end(),
                                [](const auto& gate) { return gate.outcome == AccuracyOutcome::inconclusive; });
  return !open && !comparison.metrics.empty() &&
         std::all_of(comparison.metrics.begin(), comparison.metrics.end(), [](const MetricVerdict& metric) {
           return metric.verdict != Verdict::inconclusive || !metric.ratio;
         });
}

class AbRunner {
 public:
  AbRunner(const Arm& a, const Arm& b, const AbOptions& options, const AbEvents& events)
      : arms_{&a, &b}, options_(options), events_(events) {}

  Result<AbOutcome> run(std::vector<AbSample> known) {
    outcome_.samples = std::move(known);
    WM_TRY(check_known());
    begin_s_ = now_s();
    std::string reason = stop_reason();
    if (reason.empty()) {
      WM_TRY(warm_up());
      reason = stop_reason();
    }
    while (reason.empty()) {
      WM_TRY(run_slot());
      reason = stop_reason();
    }
    outcome_.comparison = judge_samples(outcome_.samples, options_, true);
    if (outcome_.comparison.metrics.empty() && !outcome_.samples.empty()) {
      return data_error("the arms have no metric in common");
    }
    outcome_.comparison.name_a = arms_[0]->name;
    outcome_.comparison.name_b = arms_[1]->name;
    outcome_.comparison.stopped_because = reason;
    outcome_.complete = !interrupted();
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] double now_s() const {
    return events_.clock_s ? events_.clock_s() : static_cast<double>(monotonic_ns()) * 1e-9;
  }
  [[nodiscard]] bool interrupted() const { return options_.interrupted != nullptr && options_.interrupted->load(); }
  [[nodiscard]] std::int64_t next_slot() const { return static_cast<std::int64_t>(outcome_.samples.size()); }

  [[nodiscard]] Status check_known() const {
    const auto known = next_slot();
    if (known > options_.schedule.slots()) return data_error("there are more samples than the comparison has runs");
    for (std::int64_t i = 0; i < known; ++i) {
      const Slot planned = options_.schedule.slot(i), found = outcome_.samples[static_cast<std::size_t>(i)].slot;
      if (planned.arm != found.arm || planned.round != found.round) {
        return data_error(fmt::format("sample {} is of another schedule", i), "start the comparison anew");
      }
    }
    return {};
  }

  /// Empty while another run is needed.
  [[nodiscard]] std::string stop_reason() const {
    if (interrupted()) return "interrupted";
    const auto done = next_slot();
    const bool between_rounds = done == 0 || outcome_.samples.back().slot.ends_round;
    if (done == options_.schedule.slots()) return fmt::format("all {} rounds were run", options_.schedule.rounds);
    if (!between_rounds) return {};
    if (sequential(options_) && done > 0) {
      const auto comparison = judge_samples(outcome_.samples, options_, false);
      if (decided(comparison)) return fmt::format("decided after {} rounds", comparison.rounds);
    }
    if (options_.budget_s > 0 && now_s() - begin_s_ >= options_.budget_s) {
      return fmt::format("the budget of {:.3g} s was used up", options_.budget_s);
    }
    return {};
  }

  Status warm_up() {
    for (std::int64_t i = 0; i < options_.warmup_runs && !interrupted(); ++i) {
      for (const Arm* arm : arms_) WM_TRY(run_arm(*arm));
    }
    return {};
  }

  [[nodiscard]] Result<Run> run_arm(const Arm& arm) const {
    auto run = arm.experiment->run(arm.config);
    if (!run.ok()) {
      return Error{run.error().kind, arm.name + ": " + run.error().what, run.error().hint};
    }
    if (!is_measured(run->outcome)) {
      return data_error(arm.name + " could not be measured: " + run->reason, run->hint);
    }
    return run;
  }

  Status run_slot() {
    const Slot slot = options_.schedule.slot(next_slot());
    auto run = run_arm(*arms_[slot.arm]);
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

  const Arm* arms_[2];
  const AbOptions& options_;
  const AbEvents& events_;
  AbOutcome outcome_;
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
  judge(comparison.metrics,
        {.effect = options.effect,
         .alpha = options.alpha,
         .paired = comparison.paired,
         .sequential = comparison.sequential,
         .seed = options.schedule.seed,
         .explain = final},
        final && options.further_tests);
  comparison.accuracy = judge_gates(samples, options, comparison.rounds);
  if (!final) return comparison;
  for (const auto& sample : samples) {
    ArmSample taken{.arm = sample.slot.arm, .round = sample.slot.round, .started = sample.run.started, .values = {}};
    for (const auto& metric : comparison.metrics) taken.values.push_back(value_of(sample.run, metric.id));
    comparison.samples.push_back(std::move(taken));
  }
  comparison.disturbances = compare_environments(environments(samples, 0), environments(samples, 1));
  if (comparison.disturbances.empty()) return comparison;
  for (auto& metric : comparison.metrics) {
    metric.verdict = Verdict::mistrusted;
    metric.reason = comparison.disturbances.front().cause;
  }
  return comparison;
}

Result<AbOutcome> run_ab(const Arm& a, const Arm& b, const AbOptions& options, std::vector<AbSample> known,
                         const AbEvents& events) {
  WM_CHECK(a.experiment != nullptr && b.experiment != nullptr && options.schedule.rounds >= 1);
  return AbRunner(a, b, options, events).run(std::move(known));
}

}  // namespace warpmark::validate
