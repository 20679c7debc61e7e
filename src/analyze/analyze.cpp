#include "analyze/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "analyze/cautions.h"
#include "analyze/evidence/evidence.h"
#include "analyze/evidence/severity.h"
#include "analyze/recommendations/rule.h"
#include "analyze/recommendations/vendor_words.h"
#include "analyze/rules/rules.h"
#include "analyze/tables/tables.h"
#include "analyze/verdict.h"
#include "base/units.h"

namespace warpmark::analyze {

namespace {

std::int64_t median_length(const Steps& steps) {
  std::vector<std::int64_t> lengths;
  for (const StepSpan& span : steps.analyzed) lengths.push_back(span.end_ns - span.start_ns);
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  if (lengths.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(lengths.begin(), middle), *middle);
}

std::string gpu_of(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  const int device = timeline.tracks[rank.list.main_stream].device;
  for (const GpuInfo& gpu : timeline.gpus) {
    if (gpu.index == device) return gpu.name;
  }
  return timeline.gpus.empty() ? "" : timeline.gpus.front().name;
}

void describe_ranks(const Evidence& evidence, Analysis& analysis) {
  for (const RankEvidence& rank : evidence.ranks) {
    RankAnalysis one;
    one.rank = rank.number();
    one.gpu = gpu_of(rank);
    one.steps = rank.steps.analyzed;
    one.pauses = rank.steps.pauses;
    one.median_step_ns = median_length(rank.steps);
    one.breakdown = breakdown_parts(rank.breakdown);
    analysis.median_step_ns = std::max(analysis.median_step_ns, one.median_step_ns);
    if (!one.gpu.empty()) analysis.gpus.push_back(one.gpu);
    analysis.ranks.push_back(std::move(one));
  }
  if (evidence.ranks.empty()) return;
  analysis.steps_found_by = evidence.rank().steps.found_by;
  analysis.undisturbed_step_ns = evidence.rank().undisturbed_step_ns();
  analysis.recording_ns = evidence.rank().part_ns(Part::idle_profiler);
}

/// Mean over ranks of the time a step. The largest part takes what rounding leaves, so that it sums to the mean step.
void mean_breakdown(const Evidence& evidence, Analysis& analysis) {
  if (evidence.ranks.empty()) return;
  std::array<double, kParts> mean{};
  double step = 0;
  const auto ranks = static_cast<double>(evidence.ranks.size());
  for (const RankEvidence& rank : evidence.ranks) {
    step += rank.step_ns() / ranks;
    for (std::size_t i = 0; i < kParts; ++i) mean[i] += rank.part_ns(static_cast<Part>(i)) / ranks;
  }
  std::int64_t left = std::llround(step);
  const double undisturbed = std::max(1.0, step - mean[static_cast<std::size_t>(Part::idle_profiler)]);
  for (std::size_t i = 0; i < kParts; ++i) {
    if (mean[i] <= 0) continue;
    const auto part = static_cast<Part>(i);
    const auto ns = static_cast<std::int64_t>(mean[i]);
    left -= ns;
    const double share = part == Part::idle_profiler ? 0 : mean[i] / undisturbed;
    analysis.breakdown.push_back({part_id(part), part_group(part), ns, share});
  }
  const auto largest = std::ranges::max_element(analysis.breakdown, {}, &BreakdownPart::total_ns);
  largest->total_ns += left;
}

/// Without all of the cause; of a bound alone half of it. A larger batch gains samples a second, no more of the step
/// than is lost.
double gain_a_step(const Finding& finding) {
  const double gain = finding.gain.low > 1 ? finding.gain.high : std::sqrt(finding.gain.high);
  return finding.gain.per_sample ? std::min(gain, 1 / (1 - finding.severity / 2)) : gain;
}

/// By class: critical, warning, a note worth its fix, less. What slows the machine down overlaps what the program does:
/// it hides none of the program's own findings of its class. Within a class by what the fix gains.
bool comes_before(const Finding& a, const Finding& b) {
  const auto key = [](const Finding& one) {
    return std::tuple(one.severity > kCritical, one.severity >= kWarning, one.severity >= kWorthFixing,
                      one.kind != "environment", gain_a_step(one), one.severity, one.lost_ns);
  };
  return key(a) > key(b);
}

/// Amdahl: what a fix removes is at most what its finding lost, of the whole that it is a part of. Where the interval
/// then says nothing, only the bound is left.
void bound_gain(double lost_ns, double whole_ns, Gain& gain) {
  if (whole_ns <= 0) return;
  const double bound = amdahl(lost_ns, whole_ns);
  if (gain.high > bound) gain.low = std::min(gain.low, gain_up_to(bound, "").low);
  gain.high = std::min(gain.high, bound);
  gain.low = std::clamp(gain.low, 1.0, gain.high);
}

void bound_gains(double whole_ns, Finding& finding) {
  const auto lost_ns = static_cast<double>(finding.lost_ns);
  bound_gain(lost_ns, whole_ns, finding.gain);
  for (Recommendation& one : finding.recommendations) {
    if (one.gain) bound_gain(lost_ns, whole_ns, *one.gain);
  }
}

/// Work that the critical path does not lead through has slack: what its removal gains, and no more, is lost by it.
void bound_severity(Finding& finding) {
  if (finding.gain.unknown) return;
  double most = finding.gain.high;
  for (const Recommendation& one : finding.recommendations) {
    if (one.gain) most = std::max(most, one.gain->high);
  }
  finding.severity = std::min(finding.severity, 2 * (1 - 1 / std::max(1.0, most)));
}

std::vector<const Rule*> find_bottlenecks(const Evidence& evidence, const AnalyzeOptions& options, Analysis& analysis) {
  std::vector<const Rule*> applied;
  for (const Rule* rule : rules()) {
    if (!can_apply(*rule, evidence)) continue;
    for (Finding& finding : rule->apply(evidence)) {
      const bool healthy = finding.lost_ns == 0 && finding.severity == 0 && finding.gain.high == 1.0;
      if (finding.severity < options.least_severity && !healthy) continue;
      if (rule->change != nullptr) {
        if (finding.gain.method.empty()) finding.gain = estimate_gain(*rule, evidence);
      }
      if (evidence.has_timeline() && finding.lost_ns > 0) bound_gains(evidence.rank().undisturbed_step_ns(), finding);
      if (rule->change != nullptr && !finding.gain.per_sample) bound_severity(finding);
      const bool promises = rule->change != nullptr && !finding.gain.unknown;
      if (promises && finding.severity >= kWorthFixing) applied.push_back(rule);
      analysis.findings.push_back(std::move(finding));
    }
  }
  std::stable_sort(analysis.findings.begin(), analysis.findings.end(), comes_before);
  return applied;
}

/// What the GPU did is not known, so neither is what it lost.
void forget_losses(Analysis& analysis) {
  std::erase_if(analysis.findings, [](const Finding& finding) { return finding.kind != "environment"; });
  analysis.combined = {.method = "GPU work is missing", .unknown = true};
}

void merge_quality(const ProfileSession& session, Analysis& analysis) {
  std::map<std::string, std::size_t> seen;
  const auto add = [&](const DataQualityIssue& issue) {
    const auto [at, fresh] = seen.try_emplace(issue.id, analysis.quality.size());
    if (fresh) {
      analysis.quality.push_back(issue);
    } else {
      analysis.quality[at->second].count += issue.count;
    }
  };
  for (const Timeline& timeline : session.ranks) {
    for (const DataQualityIssue& issue : timeline.quality) add(issue);
  }
  for (const DataQualityIssue& issue : session.quality) add(issue);
}

}  // namespace

Analysis analyze(const ProfileSession& session, const AnalyzeOptions& options) {
  Analysis analysis;
  analysis.rank_count = static_cast<int>(session.ranks.size());
  for (const Timeline& timeline : session.ranks) {
    if (!std::ranges::count(analysis.sources, timeline.source)) analysis.sources.push_back(timeline.source);
  }
  const Evidence evidence = gather_evidence(session);
  analysis.of_one_process = session.ranks.size() == 1;
  analysis.rank_count = std::max(analysis.rank_count, static_cast<int>(evidence.ranks.size()));
  describe_ranks(evidence, analysis);
  mean_breakdown(evidence, analysis);
  const std::vector<const Rule*> applied = find_bottlenecks(evidence, options, analysis);
  AnalysisTable lines = place_in_source(evidence, options.source, analysis.findings);
  if (!analysis.findings.empty()) {
    analysis.combined = combined_gain(applied, analysis.findings, evidence);
    double lost = 0;
    for (const Finding& finding : analysis.findings) lost += static_cast<double>(finding.lost_ns);
    if (evidence.has_timeline()) bound_gain(lost, evidence.rank().undisturbed_step_ns(), analysis.combined);
  }
  analysis.missing = missing_data(evidence);
  const std::string lost = lost_work(evidence);
  if (!lost.empty()) forget_losses(analysis);
  analysis.verdict = lost.empty() ? verdict_of(analysis, evidence) : lost + ".";
  analysis.cautions = cautions_of(evidence);
  if (options.tables) analysis.tables = all_tables(evidence, options.table_rows);
  if (options.tables && !lines.rows.empty()) analysis.tables.insert(analysis.tables.begin(), std::move(lines));
  merge_quality(session, analysis);
  use_words_of_vendor(session, analysis);
  return analysis;
}

ProfileDifference diff(const ProfileSession& before, const ProfileSession& after, const AnalyzeOptions& options) {
  const Evidence first = gather_evidence(before);
  const Evidence second = gather_evidence(after);
  ProfileDifference difference{step_difference(first, second), diff_tables(first, second, options.table_rows)};
  std::string& note = difference.tables[0].note;
  for (const std::string& caution : cautions_of(first)) note += " Caution, of the earlier profile: " + caution;
  for (const std::string& caution : cautions_of(second)) note += " Caution, of the later profile: " + caution;
  return difference;
}

std::string speedup_text(const Gain& gain) {
  const auto times = [](double factor) {  // 1.22x, 2.9x, 21x
    const std::string hundredths = fmt::format("{:.2f}x", factor), tenths = fmt::format("{:.1f}x", factor);
    if (hundredths.front() == '1' && hundredths.find('.') == 1) return hundredths;
    return tenths.find('.') == 1 ? tenths : fmt::format("{:.0f}x", factor);
  };
  const bool bound_alone = times(gain.low) == times(1) || times(gain.low) == times(gain.high);
  return bound_alone ? "up to " + times(gain.high) : times(gain.low) + "-" + times(gain.high);
}

}  // namespace warpmark::analyze
