#include "report/build/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/build/verdict_tone.h"
#include "report/draw/format.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

std::string confidence_text(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.4f} .. {:.4f}", interval->low, interval->high) : "";
}

Table metrics_table(const Comparison& comparison) {
  const auto variant = [](const char* name, const std::string& machine) {
    return machine.empty() ? std::string(name) : std::string(name) + ": " + machine;
  };
  const bool priced = comparison.price_a.has_value();
  Table table{{{"metric"},
               {variant("A", comparison.machine_a), Align::right},
               {variant("B", comparison.machine_b), Align::right},
               {"B / A", Align::right},
               {"interval", Align::right},
               {"p", Align::right, 1},
               {"n", Align::right, 2},
               {"verdict"}},
              {}};
  if (priced) table.columns.push_back({"per price, B / A", Align::right});
  for (const auto& metric : comparison.metrics) {
    const auto n = metric.a.size() == metric.b.size() ? std::to_string(metric.a.size())
                                                      : fmt::format("{} + {}", metric.a.size(), metric.b.size());
    const auto median = [&](const std::vector<double>& values, double value) {
      return values.empty() ? "" : format_quantity(value, metric.unit);
    };
    table.rows.push_back({{metric.id + (metric.auxiliary ? " (info)" : "")},
                          {median(metric.a, metric.median_a)},
                          {median(metric.b, metric.median_b)},
                          {metric.ratio ? fmt::format("{:.4f}", *metric.ratio) : ""},
                          {confidence_text(metric.interval)},
                          {format_p(metric.adjusted_p)},
                          {n},
                          {name_of(metric.verdict), tone_of(metric.verdict)}});
    const auto per_price = performance_per_price(comparison, metric);
    if (priced) table.rows.back().push_back({per_price ? fmt::format("{:.3f}", *per_price) : ""});
  }
  return table;
}

Table tests_table(const MetricVerdict& metric) {
  Table table{{{"test"}, {"p", Align::right}, {"B / A", Align::right}, {"interval", Align::right}}, {}};
  for (const auto& test : metric.tests) {
    table.rows.push_back({{test.name},
                          {format_p(test.p)},
                          {test.estimate ? fmt::format("{:.4f}", *test.estimate) : ""},
                          {confidence_text(test.interval)}});
  }
  return table;
}

Table calibration_table(const Comparison& comparison) {
  Table table{{{"metric"},
               {"spread", Align::right},
               {"false positives", Align::right},
               {"smallest detectable", Align::right},
               {fmt::format("rounds for {}", format_percent(comparison.effect)), Align::right},
               {"autocorrelation", Align::right, 1}},
              {}};
  for (const auto& item : comparison.calibration) {
    table.rows.push_back({{item.id},
                          {format_percent(item.spread)},
                          {format_percent(item.false_positive_rate)},
                          {std::isfinite(item.detectable) ? format_percent(item.detectable) : "none"},
                          {format_count(item.rounds_for_effect)},
                          {item.autocorrelation ? fmt::format("{:.2f}", *item.autocorrelation) : ""}});
  }
  return table;
}

std::string margin_text(const AccuracyVerdict& gate) {
  if (gate.command) return "exit code 0";
  return gate.relative ? format_percent(gate.margin) : format_quantity(gate.margin, gate.unit);
}

Table accuracy_table(const Comparison& comparison) {
  Table table{{{"accuracy"},
               {"A", Align::right},
               {"B", Align::right},
               {"B - A", Align::right},
               {"interval", Align::right, 1},
               {"allowed", Align::right},
               {"n", Align::right, 2},
               {"outcome"}},
              {}};
  for (const auto& gate : comparison.accuracy) {
    const auto number = [&](double value) { return gate.command ? "" : format_quantity(value, gate.unit); };
    const auto interval =
        gate.interval ? fmt::format("{:.4g} .. {:.4g}", gate.interval->low, gate.interval->high) : std::string();
    table.rows.push_back({{gate.name},
                          {number(gate.median_a)},
                          {number(gate.median_b)},
                          {gate.command ? "" : fmt::format("{:+.4g}", gate.difference)},
                          {interval},
                          {margin_text(gate)},
                          {std::to_string(gate.n)},
                          {name_of(gate.outcome), tone_of(gate.outcome)}});
  }
  return table;
}

std::string accuracy_sentence(const AccuracyVerdict& gate) {
  switch (gate.outcome) {
    case AccuracyOutcome::accepted: return "accuracy accepted: " + gate.name;
    case AccuracyOutcome::rejected: return "B is rejected: accuracy: " + gate.name + ": " + gate.reason;
    case AccuracyOutcome::inconclusive: return "accuracy inconclusive: " + gate.name + ": " + gate.reason;
  }
  return "";
}

/// "B is 1.66x faster (95 % CI 1.60x-1.72x)" of a time, "B is better" of all else.
std::string judged_text(const MetricVerdict& metric) {
  const bool better = metric.verdict == Verdict::better;
  if (metric.unit != "s" || metric.better != Better::lower || !metric.ratio) {
    return better ? "B is better" : "B is worse";
  }
  const auto times = [&](double ratio) { return fmt::format("{:.2f}x", better ? 1 / ratio : ratio); };
  std::string text = fmt::format("B is {} {}", times(*metric.ratio), better ? "faster" : "slower");
  if (!metric.interval) return text;
  const auto& [low, high, confidence] = *metric.interval;
  return text +
         fmt::format(" ({:.3g} % CI {}-{})", confidence * 100, times(better ? high : low), times(better ? low : high));
}

/// "time 39.8 % lower"; of memory also how much that is.
std::string change_of(const MetricVerdict& metric) {
  const double change = metric.ratio ? *metric.ratio - 1 : 0;
  std::string text =
      fmt::format("{} {} {}", metric.id, format_percent(std::fabs(change)), change < 0 ? "lower" : "higher");
  if (metric.unit == "B") {
    text += fmt::format(", {} {}", format_quantity(std::fabs(metric.median_b - metric.median_a), "B"),
                        metric.median_b < metric.median_a ? "saved" : "more");
  }
  return text;
}

std::int64_t deciding_metrics(const Comparison& comparison) {
  return std::count_if(comparison.metrics.begin(), comparison.metrics.end(),
                       [](const auto& metric) { return !metric.auxiliary; });
}

/// What decides, in one sentence; of several metrics with how many came out so.
Paragraph headline(const Comparison& comparison) {
  const Verdict verdict = overall(comparison);
  std::string text = capitalized(overall_sentence(comparison));
  if (const auto deciding = deciding_metrics(comparison); deciding > 1) {
    const auto alike = std::ranges::count_if(
        comparison.metrics, [verdict](const auto& metric) { return !metric.auxiliary && metric.verdict == verdict; });
    text += fmt::format(". {} of {} metrics: {}", alike, deciding, name_of(verdict));
  }
  return {text + ".", rejecting_gate(comparison) != nullptr ? Tone::bad : tone_of(verdict)};
}

Section summary(const Comparison& comparison) {
  Section section;
  section.blocks.push_back(headline(comparison));
  section.blocks.push_back(Paragraph{"A: " + comparison.name_a, Tone::quiet});
  section.blocks.push_back(Paragraph{"B: " + comparison.name_b, Tone::quiet});
  section.blocks.push_back(metrics_table(comparison));
  const auto deciding = deciding_metrics(comparison);
  const std::string said = overall_sentence(comparison);  // in the headline
  for (const auto& metric : comparison.metrics) {
    const std::string sentence = verdict_sentence(metric, comparison.effect);
    if (metric.auxiliary || (deciding == 1 && sentence == said)) continue;
    const std::string name = deciding > 1 ? metric.id + ": " : "";
    section.blocks.push_back(Paragraph{name + sentence + ".", tone_of(metric.verdict)});
  }
  for (const auto& metric : comparison.metrics) {
    if (!metric.auxiliary || metric.verdict == Verdict::inconclusive) continue;
    section.blocks.push_back(Paragraph{
        "Also measured (does not decide): " + metric.id + ": " + verdict_sentence(metric, comparison.effect) + ".",
        Tone::quiet});
  }
  if (!comparison.accuracy.empty()) section.blocks.push_back(accuracy_table(comparison));
  for (const auto& gate : comparison.accuracy) {
    if (const auto sentence = accuracy_sentence(gate); sentence != said)
      section.blocks.push_back(Paragraph{sentence + ".", tone_of(gate.outcome)});
  }
  if (const auto saving = monthly_saving(comparison)) {
    section.blocks.push_back(Paragraph{monthly_sentence(*saving, "A", "B") + "."});
  }
  for (const auto& item : comparison.disturbances) section.blocks.push_back(Paragraph{item.cause, Tone::warning});
  if (!comparison.stopped_because.empty()) {
    section.blocks.push_back(Paragraph{"Stopped: " + comparison.stopped_because + ".", Tone::quiet});
  }
  section.blocks.push_back(Paragraph{method_text(comparison), Tone::quiet});
  return section;
}

}  // namespace

std::string method_text(const Comparison& comparison) {
  const std::string confidence = format_percent(1 - comparison.alpha);
  std::string text;
  if (!comparison.paired) {
    text = fmt::format(
        "Welch's t test on logarithms, {} intervals. A and B were not interleaved, so a drift of the machine counts as "
        "a difference.",
        confidence);
  } else if (comparison.sequential) {
    text = fmt::format(
        "Sequential test on the paired log ratios of the rounds (t test and signed ranks), random order ({}, seed {}). "
        "{} intervals and p are valid at any stopping time.",
        name_of(comparison.interleave), comparison.seed, confidence);
  } else {
    text = fmt::format(
        "Paired t test on the log ratios of a fixed number of rounds, random order ({}, seed {}), {} intervals.",
        name_of(comparison.interleave), comparison.seed, confidence);
  }
  if (deciding_metrics(comparison) > 1) text += " p adjusted over all metrics (Holm).";
  text += comparison.paired && comparison.sequential
              ? " B / A is the pseudo-median of the ratios per round and can differ from the ratio of the medians."
          : comparison.paired
              ? " B / A is the geometric mean of the ratios per round and can differ from the ratio of the medians."
              : " B / A is the ratio of the geometric means and can differ from the ratio of the medians.";
  return text + fmt::format(" Differences below {} do not matter.", format_percent(comparison.effect));
}

std::string verdict_sentence(const MetricVerdict& metric, double effect) {
  switch (metric.verdict) {
    case Verdict::better:
    case Verdict::worse: return judged_text(metric) + ": " + change_of(metric);
    case Verdict::different: return "B differs: " + change_of(metric);
    case Verdict::same: return fmt::format("no difference of {} or more", format_percent(effect));
    case Verdict::inconclusive: return "inconclusive: " + metric.reason;
    case Verdict::unreliable: return "unreliable: " + metric.reason;
  }
  return "";
}

std::string overall_sentence(const Comparison& comparison) {
  const Verdict verdict = overall(comparison);
  if (const auto* gate = rejecting_gate(comparison)) return accuracy_sentence(*gate);
  for (const auto& metric : comparison.metrics) {
    if (!metric.auxiliary && metric.verdict == verdict) return verdict_sentence(metric, comparison.effect);
  }
  const auto open = std::ranges::find(comparison.accuracy, AccuracyOutcome::inconclusive, &AccuracyVerdict::outcome);
  return open == comparison.accuracy.end() ? name_of(verdict) : accuracy_sentence(*open);
}

std::string monthly_sentence(const MonthlySaving& saving, const std::string& before, const std::string& after) {
  const auto money = [](double amount) { return format_count(std::llround(amount)); };
  const bool more = std::llround(saving.saved) < 0;
  const auto [low, high] =
      more ? std::pair{-saving.saved_high, -saving.saved_low} : std::pair{saving.saved_low, saving.saved_high};
  return fmt::format(
      "Per month: {} costs {}, {} {}, which {} ({} to {})", before, money(saving.before), after, money(saving.after),
      more ? "costs " + money(-saving.saved) + " more" : "saves " + money(saving.saved), money(low), money(high));
}

Distribution distribution_of(const MetricVerdict& metric) {
  Distribution distribution{.title = metric.id, .x = {.title = metric.id, .unit = metric.unit}, .groups = {}};
  for (const bool second : {false, true}) {
    const auto& values = second ? metric.b : metric.a;
    Distribution::Group group{
        .name = second ? "B" : "A", .samples = values, .median = second ? metric.median_b : metric.median_a};
    if (const auto interval = stats::median_interval(values)) group.interval = std::pair{interval->low, interval->high};
    distribution.groups.push_back(std::move(group));
  }
  return distribution;
}

Plot plot_over_time(const Comparison& comparison, std::size_t metric) {
  const auto& verdict = comparison.metrics[metric];
  Plot plot{.title = verdict.id + " of each run",
            .x = {.title = "run, in the order taken"},
            .y = {.title = verdict.id, .unit = verdict.unit},
            .series = {{.name = "A", .points = {}, .line = false}, {.name = "B", .points = {}, .line = false}}};
  for (std::size_t i = 0; i < comparison.samples.size(); ++i) {
    const auto& sample = comparison.samples[i];
    plot.series[static_cast<std::size_t>(sample.variant)].points.emplace_back(static_cast<double>(i + 1),
                                                                              sample.values[metric]);
  }
  return plot;
}

Report build_report(const Comparison& comparison) {
  Report report{.title = "A/B comparison", .subtitle = comparison.started, .sections = {}};
  report.sections.push_back(summary(comparison));
  if (!comparison.calibration.empty()) {
    report.sections.push_back({"Calibration of this machine", {calibration_table(comparison)}, false});
  }
  for (std::size_t i = 0; i < comparison.metrics.size(); ++i) {
    const auto& metric = comparison.metrics[i];
    Section section{.heading = metric.id, .blocks = {}, .detail = true, .open = i == 0};
    if (!metric.a.empty() && !metric.b.empty()) section.blocks.push_back(distribution_of(metric));
    if (!comparison.samples.empty()) section.blocks.push_back(plot_over_time(comparison, i));
    if (!metric.tests.empty()) section.blocks.push_back(tests_table(metric));
    if (!section.blocks.empty()) report.sections.push_back(std::move(section));
  }
  return report;
}

}  // namespace warpmark::report
