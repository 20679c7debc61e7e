#include "report/build/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/build/bisection.h"
#include "report/build/verdict_tone.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

int gravity(Verdict verdict) {
  switch (verdict) {
    case Verdict::unreliable: return 0;
    case Verdict::worse: return 1;
    case Verdict::inconclusive: return 2;
    case Verdict::different: return 3;
    case Verdict::better: return 4;
    case Verdict::same: return 5;
  }
  return 5;
}

std::string value_text(const std::optional<double>& value, const std::string& unit) {
  return value ? format_quantity(*value, unit) : "–";
}

/// The worst first; within a verdict the largest change first.
std::vector<const MetricCheck*> by_gravity(const Check& check) {
  std::vector<const MetricCheck*> order;
  for (const auto& metric : check.metrics) order.push_back(&metric);
  std::stable_sort(order.begin(), order.end(), [](const MetricCheck* a, const MetricCheck* b) {
    if (gravity(a->verdict) != gravity(b->verdict)) return gravity(a->verdict) < gravity(b->verdict);
    return std::fabs(std::log(a->ratio.value_or(1))) > std::fabs(std::log(b->ratio.value_or(1)));
  });
  return order;
}

Table metrics_table(const Check& check) {
  Table table{{{"benchmark"},
               {"metric"},
               {"baseline", Align::right},
               {"now", Align::right},
               {"change", Align::right},
               {"interval", Align::right, 2},
               {"p", Align::right, 1},
               {"sessions", Align::right, 3},
               {"verdict"}},
              {}};
  for (const auto* metric : by_gravity(check)) {
    table.rows.push_back({{metric->label},
                          {metric->metric},
                          {value_text(metric->level, metric->unit)},
                          {value_text(metric->value, metric->unit)},
                          {change_text(*metric), tone_of(metric->verdict)},
                          {interval_text(*metric), Tone::quiet},
                          {format_p(metric->adjusted_p), Tone::quiet},
                          {fmt::format("{} + {}", metric->baseline.size(), metric->current.size()), Tone::quiet},
                          {name_of(metric->verdict), tone_of(metric->verdict)}});
  }
  return table;
}

Plot plot_of(const MetricCheck& metric) {
  Plot plot{.title = metric.label + " " + metric.metric,
            .x = {.title = "session"},
            .y = {.title = metric.metric, .unit = metric.unit},
            .series = {{.name = "baseline", .points = {}}, {.name = "checked", .points = {}, .line = false}}};
  double x = 1;
  for (const auto& point : metric.baseline) plot.series[0].points.emplace_back(x++, point.value);
  for (const auto& point : metric.current) plot.series[1].points.emplace_back(x++, point.value);
  return plot;
}

/// What is to be said of the metrics, each sentence once with all that it is about: a branch without a history leaves
/// every metric inconclusive for one reason.
void add_sentences(const Check& check, Section& section) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::pair<std::string, std::vector<const MetricCheck*>>> said;
  for (const auto* metric : by_gravity(check)) {
    if (metric->verdict == Verdict::same) continue;
    const auto sentence = verdict_sentence(*metric, check.threshold);
    auto known = std::find_if(said.begin(), said.end(), [&](const auto& item) { return item.first == sentence; });
    if (known == said.end()) known = said.insert(said.end(), {sentence, {}});
    known->second.push_back(metric);
  }
  for (const auto& [sentence, metrics] : said) {
    std::string names;
    for (std::size_t i = 0; i < std::min(metrics.size(), kMostNamed); ++i) {
      names += (names.empty() ? "" : ", ") + metrics[i]->label + " " + metrics[i]->metric;
    }
    if (metrics.size() > kMostNamed) names += fmt::format(" and {} more", metrics.size() - kMostNamed);
    section.blocks.push_back(Paragraph{names + ": " + sentence + ".", tone_of(metrics.front()->verdict)});
  }
}

Table suspects_table(const std::vector<Commit>& commits) {
  constexpr std::size_t kShown = 20;
  Table table{{{"suspect"}, {"date", Align::left, 1}, {"author", Align::left, 2}, {"subject"}}, {}};
  for (auto commit = commits.rbegin(); commit != commits.rend() && table.rows.size() < kShown; ++commit) {
    table.rows.push_back(
        {{commit->sha.substr(0, 10)}, {commit->date.substr(0, 10)}, {commit->author}, {commit->subject}});
  }
  return table;
}

void add_suspects(const Suspects& suspects, Section& section) {
  section.blocks.push_back(Paragraph{suspects_sentence(suspects), Tone::warning});
  if (!suspects.commits.empty()) section.blocks.push_back(suspects_table(suspects.commits));
}

Section summary(const Check& check) {
  Section section{"Verdicts", {}, false};
  const auto metrics = by_gravity(check);
  std::string lead;
  if (!metrics.empty() && metrics.front()->ratio) {
    const auto& first = *metrics.front();
    const auto interval = interval_text(first);
    lead = fmt::format("{} {} {}{}{}: {}. ", first.label, first.metric, change_text(first), interval.empty() ? "" : " ",
                       interval, name_of(first.verdict));
  }
  const auto what = check.commit.empty() ? std::string("This result") : "Commit " + check.commit.substr(0, 10);
  section.blocks.push_back(
      Paragraph{fmt::format("{}{}{} against {}: {}.", lead, what, check.dirty ? " with uncommitted changes" : "",
                            check.branch, verdict_counts(check)),
                tone_of(overall(check))});
  section.blocks.push_back(metrics_table(check));
  add_sentences(check, section);
  for (const auto& metric : check.metrics) {
    if (const auto text = restart_sentence(metric); !text.empty()) {
      section.blocks.push_back(Paragraph{text, metric.restart->worse ? Tone::warning : Tone::quiet});
    }
  }
  for (const auto& name : check.missing) {
    section.blocks.push_back(Paragraph{"not measured, though the baseline has it: " + name, Tone::warning});
  }
  if (check.suspects) add_suspects(*check.suspects, section);
  // Of a check against a history they are the reason of a verdict.
  if (!check.tested) {
    for (const auto& item : check.disturbances) {
      section.blocks.push_back(Paragraph{item.cause + ".", Tone::warning});
    }
  }
  if (!check.moved.empty()) section.blocks.push_back(Paragraph{check.moved, Tone::warning});
  if (!check.advice.empty()) section.blocks.push_back(Paragraph{check.advice, Tone::warning});
  section.blocks.push_back(Paragraph{method_text(check), Tone::quiet});
  return section;
}

}  // namespace

std::string change_text(const MetricCheck& metric) { return metric.ratio ? format_change(*metric.ratio) : "n/a"; }

std::string interval_text(const MetricCheck& metric) {
  if (!metric.interval) return "";
  return fmt::format("[{}, {}]", format_change(metric.interval->low), format_change(metric.interval->high));
}

std::string verdict_counts(const Check& check) {
  constexpr std::pair<Verdict, const char*> kWords[] = {
      {Verdict::unreliable, "unreliable"}, {Verdict::worse, "worse"},   {Verdict::inconclusive, "inconclusive"},
      {Verdict::different, "different"},   {Verdict::better, "better"}, {Verdict::same, "unchanged"}};
  std::string text;
  for (const auto& known : kWords) {
    const auto count = std::count_if(check.metrics.begin(), check.metrics.end(),
                                     [&](const auto& metric) { return metric.verdict == known.first; });
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, known.second);
  }
  return text.empty() ? "nothing was checked" : text;
}

std::string verdict_sentence(const MetricCheck& metric, double threshold) {
  const std::string size = metric.ratio ? format_percent(std::fabs(*metric.ratio - 1)) : "n/a";
  const char* direction = metric.ratio.value_or(1) < 1 ? "lower" : "higher";
  switch (metric.verdict) {
    case Verdict::worse: return fmt::format("worse, {} {}", size, direction);
    case Verdict::better: return fmt::format("better, {} {}", size, direction);
    case Verdict::different:
      return fmt::format("different, {} {}{}{}", size, direction, metric.reason.empty() ? "" : ": ", metric.reason);
    case Verdict::same: return fmt::format("no change of {} for the worse", format_percent(threshold));
    case Verdict::unreliable: return "unreliable: " + metric.reason;
    case Verdict::inconclusive: break;
  }
  std::string text = "inconclusive: " + metric.reason;
  if (metric.more_runs) {
    text += fmt::format("; about {} more of this commit would decide",
                        format_plural(static_cast<std::size_t>(*metric.more_runs), "session", "sessions"));
  }
  return text;
}

std::string restart_sentence(const MetricCheck& metric) {
  if (!metric.restart) return {};
  const Restart& restart = *metric.restart;
  const std::string where =
      restart.at.commit.empty() ? "session " + restart.at.session : "commit " + restart.at.commit.substr(0, 10);
  return fmt::format("{} {}: the baseline starts at {} ({}), where it changed by {}{}", metric.label, metric.metric,
                     where, restart.at.started.substr(0, 10), format_change(1 + restart.change),
                     restart.worse ? ", for the worse: later results are compared with the new baseline" : "");
}

std::string suspects_sentence(const Suspects& suspects) {
  if (suspects.commits.empty()) return "The suspects cannot be named: " + suspects.reason + ".";
  const std::string count = format_plural(suspects.commits.size(), "commit", "commits");
  std::string text = fmt::format("Suspects for {}: {} since the last good session ({})", suspects.metric, count,
                                 suspects.good.substr(0, 10));
  if (!suspects.search) {
    if (suspects.commits.size() == 1) return text + ".";
    return text + fmt::format("; to find the one: warpmark bisect --good {} --bad {}, or check with --bisect.",
                              suspects.good.substr(0, 10), suspects.bad.substr(0, 10));
  }
  const Bisection& search = *suspects.search;
  switch (search.outcome) {
    case BisectOutcome::found: {
      const Commit& commit = search.candidates.front();
      return text +
             fmt::format(". {} made the change: {} ({})", commit.sha.substr(0, 10), commit.subject, commit.author);
    }
    case BisectOutcome::range:
      return text + fmt::format(". One of {} of them made the change; those between cannot be measured.",
                                search.candidates.size());
    case BisectOutcome::no_difference:
      return text +
             ". Built and run again now, the last good commit and the checked one do not differ: the machine may "
             "have changed, or what else was measured.";
    case BisectOutcome::inconclusive: break;
  }
  return text + ". The search did not become certain: " + search.stopped_because + ".";
}

std::string method_text(const Check& check) {
  if (!check.tested) {
    return fmt::format(
        "Untested: {} is compared by its value alone, and a change of {} or more for the worse fails, noise included. "
        "For a test, measure both versions (warpmark compare --rev-a REV --rev-b REV) or keep a history (warpmark "
        "history import FILE, then warpmark check).",
        check.metrics.size() == 1 ? "the metric" : "each metric", format_percent(check.threshold));
  }
  return fmt::format(
      "Worse needs both a change of at least {} and p at most {:.3g}, adjusted over {} (Holm), compared with the "
      "run-to-run variation of the history of {}. Unchanged means that a change of {} for the worse "
      "is ruled out; all else is inconclusive.",
      format_percent(check.threshold), check.alpha, format_plural(check.metrics.size(), "metric", "metrics"),
      check.branch, format_percent(check.threshold));
}

Report build_report(const Check& check) {
  Report report{.title = "Check against " + check.branch, .subtitle = check.started, .sections = {}};
  report.sections.push_back(summary(check));
  if (check.suspects && check.suspects->search) {
    for (Section& section : build_report(*check.suspects->search).sections) {
      section.detail = true;
      if (section.heading.empty()) section.heading = "Bisection";
      report.sections.push_back(std::move(section));
    }
  }
  for (const auto& metric : check.metrics) {
    if (metric.baseline.size() + metric.current.size() < 2) continue;
    report.sections.push_back({metric.label + " " + metric.metric, {plot_of(metric)}, true});
  }
  return report;
}

}  // namespace warpmark::report
