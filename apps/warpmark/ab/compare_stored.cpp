#include "warpmark/ab/compare_stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <ostream>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "model/auxiliary.h"
#include "model/run_query.h"
#include "report/draw/wrap.h"
#include "report/results/labels.h"
#include "stats/tests/compare.h"
#include "validate/compare/compare_run.h"
#include "validate/guard/series.h"
#include "validate/judge/verdict.h"
#include "warpmark/ab/stored_pair.h"
#include "warpmark/sessions/result_files.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

/// All runs of one case, in their order: several only where a session holds different things of one name.
std::vector<const Run*> cases_like(const Session& session, const Run& run) {
  std::vector<const Run*> found;
  for (const Run& other : session.runs) {
    if (same_case(other, run)) found.push_back(&other);
  }
  return found;
}

/// How many of the file have this name: 1 where it is the only one.
std::string twins_of(const Run& run) {
  const auto note = note_text(run, kTwinNote);
  return note.empty() ? "1" : std::string(note.substr(note.rfind(' ') + 1));
}

/// Why the numbers of a case say nothing about the program.
std::string distrust(const Run& a, const Run& b) {
  const bool of_a = a.outcome == Outcome::unreliable, of_b = b.outcome == Outcome::unreliable;
  if (!of_a && !of_b) return {};
  const std::string who = of_a && of_b ? "both were disturbed: " : of_a ? "A was disturbed: " : "B was disturbed: ";
  return who + (of_a ? a.reason : b.reason);
}

/// It was tried, and is wrong or did not run; what was left out or cannot run here has no result at all.
bool has_failed(const Run& run) { return run.outcome == Outcome::failed || run.outcome == Outcome::error; }

std::string why_failed(const Run& run, const char* variant) {
  return fmt::format("{} {}: {}", variant,
                     run.outcome == Outcome::failed ? "has a wrong result" : "could not be measured", run.reason);
}

/// A session or a file, or of a session the one run that "<session>.<index>" names.
Result<Session> results_of(const Context& context, const ParsedOptions& options, const std::string& word) {
  const auto dot = word.rfind('.');
  const auto index =
      dot == std::string::npos ? Result<std::int64_t>(usage_error("no index")) : parse_integer(word.substr(dot + 1));
  std::error_code missing;
  if (!index.ok() || std::filesystem::exists(word, missing)) return load_results(context, options, word);
  WM_ASSIGN(auto session, load_results(context, options, word.substr(0, dot)));
  std::erase_if(session.runs, [&](const Run& run) { return run.index != *index; });
  if (session.runs.empty()) return usage_error("session " + session.id + " has no run " + word.substr(dot + 1));
  return session;
}

/// Two single runs are compared whatever their settings are: whoever names them means just these.
bool two_runs(const Session& a, const Session& b) {
  return a.runs.size() == 1 && b.runs.size() == 1 && !a.runs[0].metrics.empty() && !b.runs[0].metrics.empty() &&
         a.runs[0].metrics[0].id == b.runs[0].metrics[0].id;
}

/// What two sets of results have in common, metric by metric, and why some of it cannot be judged.
class StoredPairs {
 public:
  StoredPairs(const Session& a, const Session& b)
      : labels_{report::RunLabels(a), report::RunLabels(b)}, two_runs_(two_runs(a, b)) {
    if (two_runs_) {
      add_case(a.runs.front(), b.runs.front());
      return;
    }
    for (const Run& before : a.runs) pair(before, a, b);
    // And what A does not have at all.
    for (const Run& after : b.runs) {
      if (cases_like(a, after).empty()) missing_.push_back(label_of(after, 1) + " (only B has it)");
    }
  }

  [[nodiscard]] std::vector<MetricVerdict> take_metrics() { return std::move(metrics_); }
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

  /// Adds, behind the metrics that are judged by now, what else of a case has changed; what may have, without a say in
  /// the verdict. A rate that changed as the time did follows from it.
  void add_changed(std::vector<MetricVerdict>& metrics, const validate::VerdictOptions& options) {
    std::vector<MetricVerdict> verdicts;
    for (auto& other : others_) verdicts.push_back(std::move(other.metric));
    validate::judge(verdicts, options);
    for (std::size_t i = 0; i < others_.size(); ++i) {
      MetricVerdict& metric = verdicts[i];
      MetricVerdict& primary = metrics[others_[i].primary];
      const bool undecided = metric.verdict == Verdict::inconclusive;
      if (metric.verdict == Verdict::same || follows(metric, primary)) continue;
      if (undecided && !is_apart(metric, options.effect)) continue;
      primary.id = others_[i].primary_name;
      metric.auxiliary = metric.auxiliary || undecided;
      metrics.push_back(std::move(metric));
      overruled_.emplace_back(Verdict::unreliable, others_[i].distrust);
    }
  }

  /// Of metrics that are judged by now.
  void overrule(std::vector<MetricVerdict>& metrics) const {
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const auto& [verdict, reason] = overruled_[i];
      if (reason.empty()) continue;
      metrics[i].verdict = verdict;
      metrics[i].reason = reason;
    }
  }

 private:
  /// Of several results of one name the first belongs to the first, if there are as many on both sides.
  void pair(const Run& before, const Session& a, const Session& b) {
    const auto ours = cases_like(a, before), theirs = cases_like(b, before);
    if (theirs.empty()) {
      missing_.push_back(label_of(before, 0) + " (only A has it)");
    } else if (ours.size() != theirs.size() || twins_of(before) != twins_of(*theirs.front())) {
      missing_.push_back(label_of(before, 0) + " (A and B have different numbers of results of this name)");
    } else {
      add_case(before, *theirs[static_cast<std::size_t>(std::find(ours.begin(), ours.end(), &before) - ours.begin())]);
    }
  }

  [[nodiscard]] std::string label_of(const Run& run, std::size_t side) const {
    if (run.workload == "command") return validate::case_label(run);
    return labels_[side].full(run);
  }

  /// Two commands, or two cases, have no name in common but the metric's.
  [[nodiscard]] bool nameless(const Run& before, const Run& after) const {
    return two_runs_ && (before.workload == "command" || !same_case(before, after));
  }

  void add_case(const Run& before, const Run& after) {
    if (has_failed(before) && has_failed(after)) {
      missing_.push_back(label_of(before, 0) + " (failed in both)");
    } else if (has_failed(before) || has_failed(after)) {
      add_failure(before, after);
    } else if (!before.metrics.empty() && !after.metrics.empty()) {
      add_metrics(before, after);
    } else if (!before.metrics.empty() || !after.metrics.empty()) {
      missing_.push_back(label_of(before, 0) + (after.metrics.empty() ? " (only A has it)" : " (only B has it)"));
    }
  }

  /// No numbers of the one that failed: whatever it took, it did not do the work.
  void add_failure(const Run& before, const Run& after) {
    const bool of_a = has_failed(before);
    const Run& good = of_a ? after : before;
    MetricVerdict metric{.id = label_of(before, 0), .unit = "s"};
    if (!good.metrics.empty()) {
      const Metric& primary = good.metrics.front();
      metric.unit = primary.unit;
      metric.better = primary.better;
      (of_a ? metric.b : metric.a) = stats::round_medians({primary.samples, primary.round_sizes});
    }
    metrics_.push_back(std::move(metric));
    overruled_.emplace_back(Verdict::inconclusive, of_a ? why_failed(before, "A") : why_failed(after, "B"));
  }

  void add_metrics(const Run& before, const Run& after) {
    const bool all = before.metrics.size() > 1 && speaks_for_itself(before, before.metrics[1]);
    const std::size_t primary = metrics_.size();
    for (const Metric& metric : before.metrics) {
      const Metric* other = metric_of(after, metric.id);
      if (!speaks_for_itself(before, metric)) {
        if (other != nullptr && metrics_.size() > primary) add_other(before, after, metric, *other, primary);
        continue;
      }
      const std::string id = nameless(before, after) ? metric.id : label_of(before, 0) + (all ? " " + metric.id : "");
      if (other == nullptr) {
        missing_.push_back(id + " (only A has it)");
        continue;
      }
      metrics_.push_back(values_of(id, metric, *other));
      overruled_.emplace_back(Verdict::unreliable, distrust(before, after));
    }
  }

  void add_other(const Run& before, const Run& after, const Metric& metric, const Metric& other, std::size_t primary) {
    const std::string label = nameless(before, after) ? "" : label_of(before, 0) + " ";
    others_.push_back({.metric = values_of(label + metric.id, metric, other),
                       .primary = primary,
                       .primary_name = label + before.metrics.front().id,
                       .distrust = distrust(before, after)});
    others_.back().metric.auxiliary |= metric.better == Better::neither;
  }

  static MetricVerdict values_of(std::string id, const Metric& a, const Metric& b) {
    MetricVerdict values{.id = std::move(id),
                         .unit = a.unit,
                         .better = a.better,
                         .a = stats::round_medians({a.samples, a.round_sizes}),
                         .b = stats::round_medians({b.samples, b.round_sizes})};
    values.auxiliary = is_auxiliary(a.id);
    return values;
  }

  static bool follows(const MetricVerdict& metric, const MetricVerdict& primary) {
    constexpr double kRounding = 0.01;
    const bool rates = metric.unit.ends_with("/s") || primary.unit.ends_with("/s");
    if (!rates || !metric.ratio || !primary.ratio) return false;
    return std::fabs(std::fabs(std::log(*metric.ratio)) - std::fabs(std::log(*primary.ratio))) < kRounding;
  }

  /// No value of one is as good as any of the other, by the effect or more.
  static bool is_apart(const MetricVerdict& metric, double effect) {
    const auto [low_a, high_a] = std::ranges::minmax(metric.a);
    const auto [low_b, high_b] = std::ranges::minmax(metric.b);
    return low_b > high_a * (1 + effect) || low_a > high_b * (1 + effect);
  }

  /// Of a case, a metric beside its primary one.
  struct Other {
    MetricVerdict metric;
    std::size_t primary;  ///< index of its case's in `metrics_`
    std::string primary_name;
    std::string distrust;
  };

  std::array<report::RunLabels, 2> labels_;
  bool two_runs_;
  std::vector<MetricVerdict> metrics_;
  std::vector<std::pair<Verdict, std::string>> overruled_;  ///< of each metric; no reason: its numbers decide
  std::vector<std::string> missing_;
  std::vector<Other> others_;
};

Error nothing_compared(std::vector<std::string> missing) {
  constexpr std::size_t kShown = 4;
  if (missing.size() > kShown) {
    const auto more = missing.size() - kShown;
    missing.resize(kShown);
    missing.push_back(fmt::format("{} more", more));
  }
  return usage_error("the results have no case that can be compared" +
                     (missing.empty() ? std::string() : ": " + join(missing, ", ")));
}

/// Unpaired.
Result<Comparison> compare_cases(const Session& a, const Session& b, const StoredOptions& stored,
                                 std::vector<std::string>& not_compared) {
  const bool differ = a.machine.fingerprint != b.machine.fingerprint;
  if (differ && !stored.across_machines) {
    return environment_error("the results come from different machines or drivers",
                             "compare results of one machine, or the machines: --across-machines");
  }
  Comparison comparison{.name_a = a.id,
                        .name_b = b.id,
                        .effect = stored.effect.value_or(0.01),
                        .alpha = stored.alpha.value_or(0.05),
                        .paired = false,
                        .sequential = false,
                        .interleave = Interleave::none};
  StoredPairs pairs(a, b);
  comparison.metrics = pairs.take_metrics();
  not_compared = pairs.missing();
  if (comparison.metrics.empty()) return nothing_compared(std::move(not_compared));
  const validate::VerdictOptions options{
      .effect = comparison.effect, .alpha = comparison.alpha, .paired = false, .sequential = false};
  validate::judge(comparison.metrics, options);
  pairs.add_changed(comparison.metrics, options);
  pairs.overrule(comparison.metrics);
  comparison.machine = b.machine;
  comparison.build = b.build;
  if (stored.across_machines) {
    comparison.machine_a = machine_name(a.machine);
    comparison.machine_b = machine_name(b.machine);
    if (const auto what = validate::machine_differences(b.machine, a.machine); !what.empty()) {
      comparison.disturbances.push_back({.id = "machine", .cause = "The machines differ: " + what});
    }
  }
  return comparison;
}

}  // namespace

Result<Comparison> compare_sessions(store::Store& store, const Session& a, const Session& b,
                                    const StoredOptions& stored, std::vector<std::string>& not_compared) {
  if (stored.across_machines) return compare_cases(a, b, stored, not_compared);
  WM_ASSIGN(auto measured, measured_together(store, a, b));
  if (!measured) return compare_cases(a, b, stored, not_compared);
  validate::judge_again(*measured, stored.effect.value_or(measured->effect), stored.alpha.value_or(measured->alpha));
  return std::move(*measured);
}

std::string machine_name(const Machine& machine) {
  std::map<std::string, int> names;
  for (const auto& device : machine.devices) {
    if (device.backend != "cpu" && !device.name.empty()) ++names[device.name];
  }
  std::string text;
  for (const auto& [name, count] : names) {
    text += (text.empty() ? "" : ", ") + name + (count > 1 ? fmt::format(" x{}", count) : "");
  }
  if (text.empty()) text = machine.cpu;
  return text.empty() ? machine.hostname : text + " (" + machine.hostname + ")";
}

namespace {

/// The two results of one file, each as a session.
Result<std::pair<Session, Session>> two_of(const Session& session, const std::string& file) {
  if (session.runs.size() != 2) {
    return usage_error(fmt::format("{} holds {} results, and two are compared", file, session.runs.size()),
                       "give a second file: warpmark compare A B");
  }
  std::pair<Session, Session> both(session, session);
  both.first.runs.pop_back();
  both.second.runs.erase(both.second.runs.begin());
  return both;
}

/// Both prices or none.
Status read_prices(const ParsedOptions& options, Comparison& comparison) {
  if (options.has("--price-a") != options.has("--price-b")) {
    return usage_error("--price-a and --price-b belong together", "the price of an hour on each machine");
  }
  if (!options.has("--price-a")) return {};
  for (const auto& [option, price] :
       {std::pair{"--price-a", &comparison.price_a}, {"--price-b", &comparison.price_b}}) {
    WM_ASSIGN(*price, parse_number(options.get(option)));
    if (!(**price > 0)) return usage_error(std::string(option) + " must be above 0", "of an hour on the machine");
  }
  return {};
}

}  // namespace

Result<Comparison> compare_stored(const Context& context, const ParsedOptions& options, const StoredOptions& stored) {
  const auto& words = options.positionals();
  for (const char* option : {"--a", "--b", "--rev-a", "--rev-b", "--accuracy", "--accuracy-command", "--calibrate"}) {
    if (!options.has(option)) continue;
    return usage_error(std::string(option) + " is for what is run now, not for stored results", "leave it out");
  }
  WM_ASSIGN(auto a, results_of(context, options, words[0]));
  Session b;
  if (words.size() == 2) {
    WM_ASSIGN(b, results_of(context, options, words[1]));
  } else {
    WM_ASSIGN(std::tie(a, b), two_of(a, words[0]));
  }
  std::vector<std::string> missing;
  Comparison comparison;
  if (words.size() == 2 && !is_result_file(words[0]) && !is_result_file(words[1])) {
    WM_ASSIGN(const auto store, open_to_read(context, options));
    WM_ASSIGN(comparison, compare_sessions(*store, a, b, stored, missing));
    if (!comparison.session_a.empty()) {
      WM_TRY(read_prices(options, comparison));
      return comparison;
    }
    WM_TRY(warn_of_other_order(context, *store, a, b));
    if (std::ranges::any_of(a.runs, [](const Run& run) { return run.workload == "serving"; })) {
      context.err << fmt::format(
          "Ten parts of each load stand for rounds. To compare what the reports show:\n"
          "  warpmark load compare {} {}\n",
          a.id, b.id);
    }
  } else {
    WM_ASSIGN(comparison, compare_cases(a, b, stored, missing));
  }
  comparison.name_a = words[0] + " (" + (words.size() == 2 ? a.id : a.runs[0].workload) + ")";
  comparison.name_b = words.back() + " (" + (words.size() == 2 ? b.id : b.runs[0].workload) + ")";
  WM_TRY(read_prices(options, comparison));
  if (words.size() == 1 || (is_result_file(words[0]) && is_result_file(words[1])))
    warn_of_files(context, a, b, comparison, words);
  if (!missing.empty()) {
    context.err << report::wrap_lines("Not compared: " + join(missing, ", ") + ".",
                                      static_cast<std::size_t>(context.width));
  }
  return comparison;
}

}  // namespace warpmark::apps
