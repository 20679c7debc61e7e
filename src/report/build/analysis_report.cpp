#include "report/build/analysis_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "analyze/analyze.h"
#include "base/text.h"
#include "report/build/analysis_table.h"
#include "report/draw/format.h"

namespace warpmark::report {
namespace {

constexpr double kNoteworthyCost = 0.02;    // of a step
constexpr std::size_t kRowsOfTimeline = 5;  // of the tables that stand for steps
constexpr double kNoteworthyPart = 0.001;   // of a step; what is smaller is summed up

struct Group {
  std::string_view id;
  const char* title;
};
constexpr std::array<Group, 4> kGroups{{{"compute", "compute"},
                                        {"communication", "communication, exposed"},
                                        {"copy", "copies, exposed"},
                                        {"idle", "GPU idle"}}};

double ns_to_s(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

Tone tone_of_finding(const Finding& finding) {
  const std::string_view name = severity_name(finding.severity);
  return name == "critical" ? Tone::bad : name == "warning" ? Tone::warning : Tone::plain;
}

std::vector<Cell> breakdown_row(std::string name, double share, double step_s, Tone tone) {
  return {{std::move(name), tone}, {format_seconds(share * step_s)}, {format_percent(share), Tone::plain, share}};
}

/// Groups with their parts below them, largest first. Shares of the step; they sum to 100 %.
Table breakdown_table(const Analysis& analysis, double step_s) {
  Table table{{{"part"}, {"time per step", Align::right}, {"of the step", Align::right}}, {}};
  for (const auto& group : kGroups) {
    std::vector<const BreakdownPart*> members;
    double total = 0;
    for (const auto& part : analysis.breakdown) {
      if (part.group != group.id || part.total_ns == 0 || part.id == kRecordingPart) continue;
      members.push_back(&part);
      total += part.share;
    }
    if (members.empty()) continue;
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->share > b->share; });
    const bool lost = std::ranges::any_of(members, [](const auto* one) { return one->id == "idle_unknown"; });
    table.rows.push_back(breakdown_row(lost ? "GPU idle, or not recorded" : group.title, total, step_s, Tone::plain));
    if (members.size() == 1) continue;  // it is the group
    double rest = 0;
    for (const auto* part : members) {
      if (part->share < kNoteworthyPart) {
        rest += part->share;
      } else {
        table.rows.push_back(
            breakdown_row("- " + part_name(part->id, analysis.of_one_process), part->share, step_s, Tone::quiet));
      }
    }
    // Alone it would say the same as its group.
    if (rest > 0 && rest < total) table.rows.push_back(breakdown_row("- other", rest, step_s, Tone::quiet));
  }
  return table;
}

double group_share(const RankAnalysis& rank, std::string_view group) {
  double share = 0;
  for (const auto& part : rank.breakdown) share += part.group == group ? part.share : 0;
  return share;
}

Section ranks_section(const Analysis& analysis) {
  Table table{{{analysis.of_one_process ? "gpu" : "rank", Align::right},
               {"step", Align::right},
               {"compute", Align::right},
               {"comm.", Align::right},
               {"copies", Align::right},
               {"idle", Align::right},
               {"GPU", Align::left, 1}},
              {}};
  for (const auto& rank : analysis.ranks) {
    table.rows.push_back({{std::to_string(rank.rank)},
                          {format_seconds(ns_to_s(rank.median_step_ns))},
                          {format_percent(group_share(rank, "compute"))},
                          {format_percent(group_share(rank, "communication"))},
                          {format_percent(group_share(rank, "copy"))},
                          {format_percent(group_share(rank, "idle"))},
                          {rank.gpu}});
  }
  return {analysis.of_one_process ? "GPUs" : "Ranks", {std::move(table)}};
}

/// What times and gains refer to: a profile of single kernels has no steps.
struct Whole {
  const char* share;  ///< what a finding's time is part of
};

Whole whole_of(const Analysis& analysis) {
  return {analysis.median_step_ns > 0 ? "of each step" : "of the profiled kernels' time"};
}

std::string gain_text(const Gain& gain) {
  if (gain.unknown) return "not known";
  if (gain.high <= 1.005) return "none expected";
  const std::string range = analyze::speedup_text(gain);
  return gain.per_sample ? range + " samples per second" : range;
}

/// One finding: numbers first, then what to do, each ready to paste.
Section finding_section(const Finding& finding, std::size_t number, const Analysis& analysis) {
  const Whole whole = whole_of(analysis);
  const bool said = analysis.verdict.find(finding.title) != std::string::npos;
  Section section{
      fmt::format("{}. {}: {}", number, severity_name(finding.severity), said ? finding.rule : finding.title), {}};
  // Counters alone know shares and no times.
  const std::string lost =
      finding.lost_ns > 0 ? fmt::format(", {} {}", format_seconds(ns_to_s(finding.lost_ns)), whole.share) : "";
  Table facts{{{""}, {""}}, {}};
  facts.rows.push_back(
      {{"rule", Tone::quiet},
       {fmt::format("{}{}, severity {:.2f}{}", finding.rule,
                    finding.kind == finding.rule ? "" : " (" + finding.kind + ")", finding.severity, lost),
        tone_of_finding(finding)}});
  facts.rows.push_back({{"speedup", Tone::quiet}, {gain_text(finding.gain) + " (" + finding.gain.method + ")"}});
  bool first = true;
  for (const auto& fact : finding.evidence) {
    if (fact.unit == "s" && fact.value == 0.0) continue;  // what takes no time is for programs to read
    facts.rows.push_back({{std::exchange(first, false) ? "evidence" : "", Tone::quiet}, {fact.text}});
  }
  first = true;
  constexpr std::size_t kEvents = 3;
  for (std::size_t i = 0; i < std::min(kEvents, finding.events.size()); ++i) {
    const auto& event = finding.events[i];
    facts.rows.push_back(
        {{std::exchange(first, false) ? "seen at" : "", Tone::quiet},
         {fmt::format("{} for {}, {} after the start{}", short_name(event.name),
                      format_seconds(ns_to_s(event.duration_ns)), format_seconds(ns_to_s(event.start_ns)),
                      analysis.rank_count > 1 ? fmt::format(" of rank {}", event.rank) : "")}});
  }
  section.blocks.push_back(std::move(facts));
  for (const auto& advice : finding.recommendations) {
    const std::string gain = advice.gain ? gain_text(*advice.gain) : "";
    const bool same = gain.empty() || gain == gain_text(finding.gain);
    section.blocks.push_back(Paragraph{advice.text + (same ? "" : " Estimated speedup: " + gain + ".")});
    if (!advice.snippet.empty()) section.blocks.push_back(Paragraph{advice.snippet, Tone::plain, true});
  }
  return section;
}

/// "NVIDIA H200", "2 ranks on NVIDIA H200": each model once.
std::string gpus_text(const Analysis& analysis) {
  std::vector<std::string> models;
  for (const auto& gpu : analysis.gpus) {
    if (std::find(models.begin(), models.end(), gpu) == models.end()) models.push_back(gpu);
  }
  const std::string ranks = analysis.rank_count > 1
                                ? fmt::format("{} {} ", analysis.rank_count, analysis.of_one_process ? "x" : "ranks on")
                                : "";
  return ranks + join(models, ", ");
}

/// Mean of the steps where that is another number than their median: findings count all steps, and a few long ones may
/// hold most of the time. Else the median.
double shown_step_s(const Analysis& analysis) {
  const double median_ns = static_cast<double>(analysis.median_step_ns);
  for (const auto& rank : analysis.ranks) {
    if (rank.median_step_ns != analysis.median_step_ns || rank.steps.empty()) continue;
    double sum_ns = 0;
    for (const auto& step : rank.steps) sum_ns += static_cast<double>(step.end_ns - step.start_ns);
    const double mean_ns = sum_ns / static_cast<double>(rank.steps.size());
    return (std::abs(mean_ns / median_ns - 1) < 0.05 ? median_ns : mean_ns) * 1e-9;
  }
  return median_ns * 1e-9;
}

/// The parts sum to the mean step, over all ranks.
Section breakdown_section(const Analysis& analysis) {
  std::int64_t step_ns = 0;
  for (const BreakdownPart& part : analysis.breakdown) step_ns += part.id == kRecordingPart ? 0 : part.total_ns;
  const double step_s = ns_to_s(step_ns);
  std::string title = "Where the time of a step goes";
  if (analysis.ranks.size() > 1) {
    title += fmt::format(": {}, the mean of {} {}", format_seconds(step_s), analysis.ranks.size(),
                         analysis.of_one_process ? "GPUs" : "ranks");
  }
  return {std::move(title), {breakdown_table(analysis, step_s)}};
}

/// Empty where a single fix, or none, makes the step faster: then it was said.
std::string combined_text(const Analysis& analysis) {
  const std::string together = gain_text(analysis.combined);
  int fixes = 0;
  for (const Finding& finding : analysis.findings) {
    if (finding.gain.per_sample || finding.gain.high <= 1.005) continue;
    ++fixes;
    if (gain_text(finding.gain) == together) return "";
  }
  if (fixes < 2 || analysis.combined.high <= 1.005) return "";
  const bool other_batch = analysis.findings.front().gain.per_sample;
  constexpr double kWide = 5;  // an upper end so far above says nothing
  if (analysis.combined.high > kWide * analysis.combined.low)
    return fmt::format("All fixes together: {} if each removes half of its loss", format_times(analysis.combined.low));
  return std::string("All fixes together") + (other_batch ? ", at the same batch size: " : ": ") + together;
}

/// Whether recording made the step clearly longer, at the rank that the others wait for.
bool costs_noteworthily(const Analysis& analysis) {
  return analysis.recording_ns > kNoteworthyCost * (analysis.undisturbed_step_ns + analysis.recording_ns);
}

/// What the time of a step is of: "mean of 8 steps (median 2.4 ms), found by ProfilerStep annotations". The parts of a
/// step sum to its mean.
std::string steps_text(const Analysis& analysis, std::size_t steps) {
  if (analysis.steps_found_by == "whole recording") return "in all, as the recording shows no steps";
  const bool mean = shown_step_s(analysis) != ns_to_s(analysis.median_step_ns);
  const std::string median = mean ? fmt::format(" (median {})", format_seconds(ns_to_s(analysis.median_step_ns))) : "";
  const std::string which =
      steps == 1 ? std::string("for the only step")
                 : fmt::format("{} of {}{}", mean ? "mean" : "median", format_plural(steps, "step", "steps"), median);
  return which + ", found by " + analysis.steps_found_by;
}

/// "1 pause of 5.01 s left out: save_checkpoint". Pauses of one name together, over the rank with the most of them.
std::vector<std::string> pauses_of(const Analysis& analysis) {
  const RankAnalysis* most = nullptr;
  for (const RankAnalysis& rank : analysis.ranks) {
    if (most == nullptr || rank.pauses.size() > most->pauses.size()) most = &rank;
  }
  std::map<std::string, std::pair<std::size_t, std::int64_t>> by_name;
  for (const StepPause& pause : most == nullptr ? std::vector<StepPause>() : most->pauses) {
    by_name[pause.name].first += 1;
    by_name[pause.name].second += pause.end_ns - pause.start_ns;
  }
  std::vector<std::string> lines;
  for (const auto& [name, sum] : by_name) {
    lines.push_back(fmt::format("{} left out, {} in all{}", format_plural(sum.first, "pause", "pauses"),
                                format_seconds(ns_to_s(sum.second)),
                                name.empty() ? ", whose cause was not recorded" : ": " + name));
  }
  return lines;
}

Section summary_section(const Analysis& analysis) {
  Section section{"Summary", {}};
  const bool healthy = analysis.findings.empty() || analysis.findings.front().severity < kWarning;
  const Tone well = analysis.cautions.empty() ? Tone::good : Tone::warning;
  section.blocks.push_back(
      Paragraph{capitalized(analysis.verdict), healthy ? well : tone_of_finding(analysis.findings.front())});
  for (const std::string& caution : analysis.cautions) {
    section.blocks.push_back(Paragraph{"Caution: " + caution, Tone::warning});
  }
  if (const std::string together = combined_text(analysis); !together.empty()) {
    section.blocks.push_back(Paragraph{together + "."});
  }
  Table facts{{{""}, {""}}, {}};
  std::size_t steps = 0;
  for (const auto& rank : analysis.ranks) steps = std::max(steps, rank.steps.size());
  if (analysis.median_step_ns > 0) {
    facts.rows.push_back(
        {{"step", Tone::quiet}, {format_seconds(shown_step_s(analysis)) + " " + steps_text(analysis, steps)}});
  }
  for (const auto& pause : pauses_of(analysis)) facts.rows.push_back({{"", Tone::quiet}, {pause}});
  if (costs_noteworthily(analysis)) {
    facts.rows.push_back({{"", Tone::quiet},
                          {"profiler overhead: about " + format_seconds(analysis.recording_ns * 1e-9) +
                           " of host time per step (excluded below: shares are of " +
                           format_seconds(analysis.undisturbed_step_ns * 1e-9) + ")"}});
  }
  if (!analysis.gpus.empty()) facts.rows.push_back({{"gpu", Tone::quiet}, {gpus_text(analysis)}});
  for (std::size_t i = 0; i < analysis.sources.size(); ++i) {
    facts.rows.push_back({{i == 0 ? "read" : "", Tone::quiet}, {analysis.sources[i], Tone::quiet}});
  }
  section.blocks.push_back(std::move(facts));
  return section;
}

/// "host_work (23.6 %, speedup 1.22x-1.52x)": the share is of the step.
Section more_findings(const Analysis& analysis, std::size_t top) {
  std::vector<std::string> others;
  for (std::size_t i = top; i < analysis.findings.size(); ++i) {
    const Finding& finding = analysis.findings[i];
    const bool of_step = finding.lost_ns > 0 && analysis.undisturbed_step_ns > 0;
    const double share = of_step ? static_cast<double>(finding.lost_ns) / analysis.undisturbed_step_ns : 0;
    others.push_back(fmt::format("{} ({}speedup {})", finding.rule,
                                 of_step ? format_percent(share) + ", " : std::string(), gain_text(finding.gain)));
  }
  return {fmt::format("{} more: --all", others.size()), {Paragraph{join(others, "; ")}}};
}

Section quality_section(const Analysis& analysis) {
  Table table{{{"flaw"}, {"count", Align::right}, {"first one", Align::left, 1}}, {}};
  for (const auto& issue : analysis.quality) {
    table.rows.push_back({{issue.text}, {format_count(issue.count)}, {issue.example, Tone::quiet}});
  }
  return {"Data quality", {std::move(table)}};
}

/// `brief`: what each would show stands behind its colon.
Section missing_section(const Analysis& analysis, bool brief) {
  Section section{"To see more", {}};
  if (brief) {
    std::vector<std::string> names;
    for (const auto& missing : analysis.missing) names.push_back(missing.name.empty() ? missing.what : missing.name);
    section.blocks.push_back(Paragraph{"Record " + join(names, ", ") + ". How: --all"});
    return section;
  }
  for (const auto& missing : analysis.missing) {
    section.blocks.push_back(Paragraph{missing.what});
    if (!missing.how.empty()) section.blocks.push_back(Paragraph{missing.how, Tone::plain, true});
  }
  return section;
}

}  // namespace

Report build_analysis_report(const Analysis& analysis, const AnalysisReportOptions& options) {
  Report report{"Profile analysis", "", {}};
  report.sections.push_back(summary_section(analysis));
  if (!analysis.breakdown.empty()) {
    report.sections.push_back(breakdown_section(analysis));
  }
  if (analysis.ranks.size() > 1) report.sections.push_back(ranks_section(analysis));
  const std::size_t shown = std::min(options.top, analysis.findings.size());
  for (std::size_t i = 0; i < shown; ++i)
    report.sections.push_back(finding_section(analysis.findings[i], i + 1, analysis));
  if (shown < analysis.findings.size()) report.sections.push_back(more_findings(analysis, shown));
  if (!analysis.quality.empty()) report.sections.push_back(quality_section(analysis));
  const bool brief = options.top == 1 && !analysis.findings.empty();
  if (!analysis.missing.empty()) report.sections.push_back(missing_section(analysis, brief));
  for (const auto& table : analysis.tables) {
    const bool few = !options.whole_tables && analysis.steps_found_by == "whole recording" && !analysis.ranks.empty();
    report.sections.push_back(table_section(
        table, few ? std::min(options.table_rows, kRowsOfTimeline) : options.table_rows, options.whole_tables));
    // Where there is nothing else to say, the tables are the answer; without steps, what the GPU did and when.
    const bool timeline = analysis.steps_found_by == "whole recording" && (table.id == "kernels" || table.id == "idle");
    if (timeline || (analysis.ranks.empty() && analysis.findings.empty())) report.sections.back().detail = false;
  }
  return report;
}

}  // namespace warpmark::report
