#include "report/build/bisection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/draw/format.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kShownCandidates = 20;

std::string short_sha(const std::string& sha) { return sha.substr(0, 10); }

std::string change_of(double ratio) {
  return fmt::format("{}{}", ratio < 1 ? "-" : "+", format_percent(std::fabs(ratio - 1)));
}

/// "time +3.1 % (95 % interval +2.6 % .. +3.6 %), 12.01 ms to 12.38 ms".
std::string change_sentence(const Bisection& bisection, const MetricVerdict& metric) {
  const std::string& id = bisection.range.id;
  const std::string& unit = bisection.range.unit;
  if (!metric.ratio) return id + " has no ratio: " + metric.reason;
  std::string text = id + " " + change_of(*metric.ratio);
  if (metric.interval) {
    text += fmt::format(" ({} interval {} .. {})", format_percent(metric.interval->confidence),
                        change_of(metric.interval->low), change_of(metric.interval->high));
  }
  return text + fmt::format(", {} to {}, {} rounds", format_quantity(metric.median_a, unit),
                            format_quantity(metric.median_b, unit), metric.a.size());
}

Tone tone_of_answer(ProbeAnswer answer) {
  switch (answer) {
    case ProbeAnswer::good: return Tone::good;
    case ProbeAnswer::bad: return Tone::bad;
    case ProbeAnswer::undecided: return Tone::warning;
    case ProbeAnswer::skipped: return Tone::quiet;
  }
  return Tone::plain;
}

Table commits_table(const std::vector<Commit>& commits) {
  Table table{{{"commit"}, {"date", Align::left, 1}, {"author", Align::left, 2}, {"subject"}}, {}};
  for (std::size_t i = 0; i < std::min(commits.size(), kShownCandidates); ++i) {
    const Commit& commit = commits[i];
    table.rows.push_back({{short_sha(commit.sha)}, {commit.date.substr(0, 10)}, {commit.author}, {commit.subject}});
  }
  return table;
}

/// Never "100 %": no number of runs makes it that.
std::string certainty(double probability) {
  return probability > 0.999 ? "more than 99.9 %" : format_percent(probability);
}

Paragraph headline(const Bisection& bisection) {
  const std::string sure = certainty(bisection.probability);
  switch (bisection.outcome) {
    case BisectOutcome::found: {
      const Commit& commit = bisection.candidates.front();
      return {fmt::format("{} made the change ({} certain): {}", short_sha(commit.sha), sure, commit.subject),
              Tone::bad};
    }
    case BisectOutcome::range:
      return {fmt::format("One of {} commits made the change ({} certain); those between them cannot be measured.",
                          bisection.candidates.size(), sure),
              Tone::warning};
    case BisectOutcome::no_difference:
      return {
          fmt::format("There is nothing to find: {} and {} do not differ by {} or more.", short_sha(bisection.good.sha),
                      short_sha(bisection.bad.sha), format_percent(bisection.effect)),
          Tone::plain};
    case BisectOutcome::inconclusive: break;
  }
  if (bisection.candidates.empty()) {
    return {fmt::format("Inconclusive: {}.",
                        bisection.range.reason.empty() ? bisection.stopped_because : bisection.range.reason),
            Tone::warning};
  }
  return {fmt::format("Inconclusive: one of {} commits, {} certain.", bisection.candidates.size(), sure),
          Tone::warning};
}

/// Of a merge the culprit may be any commit that it brought in.
std::string advice_for(const Bisection& bisection) {
  if (bisection.outcome != BisectOutcome::found || bisection.candidates.front().merged.empty()) return {};
  const Commit& merge = bisection.candidates.front();
  return fmt::format("warpmark bisect --good $(git merge-base {0}^1 {0}^2) --bad {1}", short_sha(merge.sha),
                     short_sha(merge.merged));
}

/// Another commit of the range changed the metric as well, or the other way.
bool explains_only_a_part(const Bisection& bisection) {
  if (!bisection.change || !bisection.change->interval || !bisection.range.interval) return false;
  const Interval &change = *bisection.change->interval, &range = *bisection.range.interval;
  return change.high < range.low || change.low > range.high;
}

void add_range(const Bisection& bisection, Section& section) {
  if (bisection.range.id.empty()) return;
  section.blocks.push_back(
      Paragraph{fmt::format("The whole range, {} against {}: {}.", short_sha(bisection.bad.sha),
                            short_sha(bisection.good.sha), change_sentence(bisection, bisection.range))});
}

/// What continues a search that ended too early.
std::string next_step(const Bisection& bisection) {
  if (bisection.outcome != BisectOutcome::inconclusive) return {};
  const bool undecided = bisection.probes.empty() && bisection.range.verdict == Verdict::inconclusive;
  const std::int64_t rounds = 2 * static_cast<std::int64_t>(bisection.range.a.size());
  const std::string what = undecided && !bisection.range.id.empty()
                               ? fmt::format("with --rounds {} or a larger --effect", rounds)
                               : fmt::format("with --builds {} or a larger --budget", 2 * bisection.builds);
  return "Run the same command again " + what + ": the search resumes.";
}

Section summary(const Bisection& bisection) {
  Section section;
  section.blocks.push_back(headline(bisection));
  Table facts{{{""}, {""}}, {}};
  if (bisection.outcome == BisectOutcome::found) {
    const Commit& commit = bisection.candidates.front();
    facts.rows = {{{"commit"}, {commit.sha}},
                  {{"author"}, {commit.author}},
                  {{"date"}, {commit.date}},
                  {{"subject"}, {commit.subject}}};
  } else if (!bisection.candidates.empty()) {
    section.blocks.push_back(commits_table(bisection.candidates));
    if (bisection.candidates.size() > kShownCandidates) {
      section.blocks.push_back(
          Paragraph{fmt::format("... and {} more", bisection.candidates.size() - kShownCandidates), Tone::quiet});
    }
  }
  facts.rows.push_back({{"good"}, {short_sha(bisection.good.sha) + " " + bisection.good.subject}});
  facts.rows.push_back({{"bad"}, {short_sha(bisection.bad.sha) + " " + bisection.bad.subject}});
  section.blocks.push_back(std::move(facts));
  if (bisection.change) {
    section.blocks.push_back(
        Paragraph{fmt::format("{} against its parent {}: {}.", short_sha(bisection.change_b),
                              short_sha(bisection.change_a), change_sentence(bisection, *bisection.change))});
  }
  if (!bisection.change || explains_only_a_part(bisection)) add_range(bisection, section);
  if (const auto advice = advice_for(bisection); !advice.empty()) {
    section.blocks.push_back(Paragraph{"It is a merge. To look at the commits that it brought in:"});
    section.blocks.push_back(Paragraph{advice, Tone::plain, true});
  }
  for (const auto& item : bisection.disturbances) section.blocks.push_back(Paragraph{item.cause, Tone::warning});
  section.blocks.push_back(Paragraph{
      fmt::format("{}, {}, {}.", format_plural(static_cast<std::size_t>(bisection.commits), "candidate", "candidates"),
                  format_plural(static_cast<std::size_t>(bisection.builds), "build", "builds"),
                  format_plural(static_cast<std::size_t>(bisection.runs), "run", "runs")),
      Tone::quiet});
  if (bisection.history_points > 0) {
    section.blocks.push_back(Paragraph{fmt::format("{} of this machine selected where to start.",
                                                   format_plural(static_cast<std::size_t>(bisection.history_points),
                                                                 "stored result", "stored results")),
                                       Tone::quiet});
  }
  if (!bisection.stopped_because.empty()) {
    section.blocks.push_back(Paragraph{"Stopped: " + bisection.stopped_because + ".", Tone::quiet});
  }
  if (const auto next = next_step(bisection); !next.empty()) section.blocks.push_back(Paragraph{next, Tone::warning});
  return section;
}

Section probes(const Bisection& bisection) {
  Table table{
      {{"commit"}, {"position", Align::right}, {"result"}, {"rounds", Align::right, 1}, {"subject", Align::left, 2}},
      {}};
  Section section{"Tested commits, in order", {}, false};
  std::vector<Paragraph> reasons;
  for (const auto& probe : bisection.probes) {
    const bool skipped = probe.answer == ProbeAnswer::skipped;
    table.rows.push_back({{short_sha(probe.commit.sha)},
                          {fmt::format("{}/{}", probe.index, bisection.commits)},
                          {name_of(probe.answer), tone_of_answer(probe.answer)},
                          {skipped ? "" : std::to_string(probe.rounds)},
                          {probe.commit.subject}});
    if (skipped) reasons.push_back({short_sha(probe.commit.sha) + " was skipped: " + probe.reason, Tone::quiet});
  }
  section.blocks.push_back(std::move(table));
  for (auto& reason : reasons) section.blocks.push_back(std::move(reason));
  section.blocks.push_back(Paragraph{
      fmt::format(
          "Each ran interleaved with the good and the bad revision, in random order, until a sequential test "
          "classified it as good or bad. A wrong result (at most {} each) lowers the odds of the culprit but does not "
          "exclude it.",
          format_percent(bisection.alpha)),
      Tone::quiet});
  return section;
}

/// What the decisions were made from; the change itself is measured against the parent.
Section ratios(const Bisection& bisection) {
  Table table{{{"commit"}, {"against good", Align::right}, {"probability of bad", Align::right}}, {}};
  for (const auto& probe : bisection.probes) {
    if (!probe.ratio_to_good) continue;
    table.rows.push_back(
        {{short_sha(probe.commit.sha)}, {change_of(*probe.ratio_to_good)}, {format_percent(probe.bad_probability)}});
  }
  Section section{"Against the good revision", {std::move(table)}, true};
  if (bisection.change && !explains_only_a_part(bisection)) add_range(bisection, section);
  return section;
}

}  // namespace

Report build_report(const Bisection& bisection) {
  Report report{.title = "Bisection", .subtitle = bisection.started, .sections = {}};
  report.sections.push_back(summary(bisection));
  if (!bisection.probes.empty()) report.sections.insert(report.sections.end(), {probes(bisection), ratios(bisection)});
  return report;
}

}  // namespace warpmark::report
