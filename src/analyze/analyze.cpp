#include "analyze/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "analyze/cautions.h"
#include "analyze/evidence/evidence.h"
#include "analyze/evidence/host_phases.h"
#include "analyze/evidence/severity.h"
#include "analyze/recommendations/rule.h"
#include "analyze/recommendations/strongest.h"
#include "analyze/recorded/collective_benchmarks.h"
#include "analyze/rules/rules.h"
#include "analyze/tables/tables.h"
#include "analyze/verdicts_without_steps.h"
#include "base/quantity.h"

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

/// Of a session that holds nothing but communication benchmarks.
std::string benchmarks_verdict(const ProfileSession& session) {
  const std::vector<CollectiveCurve> curves = collective_curves(session.collectives);
  const auto wrong = std::find_if(curves.begin(), curves.end(), [](const auto& curve) { return curve.wrong > 0; });
  if (wrong != curves.end()) {
    return fmt::format("{} gave {} wrong elements: this machine computes wrong sums or moves wrong data.",
                       wrong->collective, wrong->wrong);
  }
  const auto best = std::max_element(curves.begin(), curves.end(), [](const auto& a, const auto& b) {
    return a.peak_bus_bandwidth < b.peak_bus_bandwidth;
  });
  return fmt::format("Communication alone: up to {:.1f} GB/s of bus bandwidth ({}, {} ranks); no program was recorded.",
                     best->peak_bus_bandwidth * 1e-9, best->collective, best->ranks);
}

/// Of a session without steps in which nothing is wrong: what was looked at. Adds what the host alone shows.
std::string verdict_without_steps(const ProfileSession& session, Analysis& analysis) {
  if (!session.collectives.empty()) return benchmarks_verdict(session);
  if (!session.kernels.empty()) {
    return fmt::format(
        "Launches of kernels alone: none of the {} measured is beyond a threshold; no program was recorded.",
        session.kernels.size());
  }
  std::set<int> gpus;
  for (const CounterSeries& series : session.counters) {
    if (series.device >= 0) gpus.insert(series.device);
  }
  if (gpus.empty() && loss_of(session) != Loss::none) {
    return loss_text(session) +
           ": what the GPU did is not in what is left of it, and nothing can be said about the GPU.";
  }
  if (gpus.empty() && is_of_unknown_kinds(session)) {
    return unknown_kinds_verdict(session);
  }
  if (gpus.empty() && !session.ranks.empty()) {
    if (const auto phases = host_phases_of(session.ranks.front())) {
      analysis.findings = findings_of(*phases);
      return text_of(*phases);
    }
  }
  if (gpus.empty()) return "No GPU work was recorded: nothing can be said about the GPU.";
  return counters_verdict(session, gpus.size());
}

/// Share of the step in which the GPU idles for no reason that was recorded.
double unexplained_idle(const Analysis& analysis) {
  double share = 0;
  for (const BreakdownPart& part : analysis.breakdown) {
    const bool counts =
        analysis.findings.empty() ? part.group == "idle" && part.id != "idle_profiler" : part.id == "idle_unknown";
    if (counts) share += part.share;
  }
  return share;
}

/// A GPU whose idle time would be a warning with one cause is not healthy, though no single fix gains as much.
std::string scattered_idle(const Analysis& analysis) {
  double idle = 0;
  const BreakdownPart* longest = nullptr;
  for (const BreakdownPart& part : analysis.breakdown) {
    if (part.group != "idle" || part.id == "idle_profiler") continue;
    idle += part.share;
    if (longest == nullptr || part.share > longest->share) longest = &part;
  }
  if (severity_of(idle, 1) < kWarning) return "";
  std::string cause = longest->id.substr(std::string_view("idle_").size());
  std::ranges::replace(cause, '_', ' ');
  if (longest->share >= kNearlyAll * idle)
    return fmt::format("The GPU idles {} of the step ({}).", format_percent(idle), cause);
  return fmt::format("The GPU idles {} of the step for several reasons; the largest is {} ({}).", format_percent(idle),
                     cause, format_percent(longest->share));
}

std::string unexplained_verdict(const Analysis& analysis, const MissingWork& missing, double share) {
  const char* whole = analysis.ranks.empty() ? "time" : "step";
  if (missing.graphs_without_work == 0)
    return fmt::format("The GPU idles {} of the {}; the recording does not show why.", format_percent(share), whole);
  return fmt::format(
      "GPU work is missing: {} of {} CUDA graph launches left no kernel in the recording, so whether the GPU was idle "
      "for {} of the {} is not known.",
      missing.graphs_without_work, missing.graph_launches, format_percent(share), whole);
}

std::string healthy_verdict(const Analysis& analysis, const MissingWork& missing) {
  const double unexplained = unexplained_idle(analysis);
  if (severity_of(unexplained, 1) >= kWorthFixing) return unexplained_verdict(analysis, missing, unexplained);
  const std::string scattered = scattered_idle(analysis);
  const std::string begin = scattered.empty() ? "No significant bottleneck." : scattered;
  if (analysis.findings.empty() || analysis.findings.front().severity <= 0) return begin;
  const Finding& largest = analysis.findings.front();
  const std::string speedup = speedup_text(largest.gain);
  const std::string gain = speedup == "up to 1.00x" ? "" : ", estimated speedup " + speedup;
  const double share = largest.lost_ns > 0 && analysis.undisturbed_step_ns > 0
                           ? static_cast<double>(largest.lost_ns) / analysis.undisturbed_step_ns
                           : largest.severity / 2;
  return begin + fmt::format(" Largest candidate: {} ({} of the {}{}).", largest.rule, format_percent(share),
                             analysis.ranks.empty() ? "time" : "step", gain);
}

/// "; first: compile the model; most, where it can be done: replay the step as a CUDA graph, 4.8x-9.6x".
std::string fixes_named(const Finding& finding) {
  if (finding.recommendations.empty()) return "";
  const std::string first = clause_of(finding.recommendations.front());
  std::string text = first.empty() ? "" : " Fix: " + first + ".";
  const Recommendation* stronger = stronger_fix(finding);
  const std::string more = stronger == nullptr ? "" : clause_of(*stronger);
  if (more.empty()) return text;
  return text + fmt::format(" Larger, where possible: {}, {}.", more, speedup_text(*stronger->gain));
}

/// Of what was read.
std::string verdict_of_all(const Analysis& analysis, const MissingWork& missing) {
  if (analysis.findings.empty() || analysis.findings.front().severity < kWarning)
    return healthy_verdict(analysis, missing);
  const Finding& top = analysis.findings.front();
  std::string gain = top.gain.unknown ? "not known" : speedup_text(top.gain);
  if (top.gain.per_sample) gain += " samples per second";
  const double unexplained = unexplained_idle(analysis);  // more than what is known: that comes first
  const std::string idle =
      severity_of(unexplained, 1) > top.severity ? unexplained_verdict(analysis, missing, unexplained) + " " : "";
  return idle + fmt::format("{} ({}). Estimated speedup if fixed: {}.{}", top.title, top.rule, gain, fixes_named(top));
}

/// Launches without kernels look like an idle GPU, or a healthy one.
std::string lost_work(const Evidence& evidence) {
  if (loss_of(*evidence.session) != Loss::none) return "";  // which says more
  const MissingWork& sum = evidence.missing;
  const bool graphs = sum.graphs_without_work * 2 >= std::max<std::int64_t>(1, sum.graph_launches);
  if (!graphs && sum.launches_without_work * 2 <= sum.launches) return "";
  return fmt::format(
      "GPU work is missing: {} of {} {} left no kernel in the recording, so the utilization of the GPU is unknown. {}",
      graphs ? sum.graphs_without_work : sum.launches_without_work, graphs ? sum.graph_launches : sum.launches,
      graphs ? "CUDA graph launches" : "kernel launches",
      sum.captures ? "The program captured CUDA graphs: record it while it replays them"
      : graphs     ? "Record again with kernels of graphs (warpmark profile; nsys profile --cuda-graph-trace=node)"
                   : "Record the GPU's activity, too (warpmark profile; nsys profile --trace=cuda)");
}

/// What the GPU did is not known, so neither is what it lost.
void forget_losses(Analysis& analysis) {
  std::erase_if(analysis.findings, [](const Finding& finding) { return finding.kind != "environment"; });
  analysis.combined = {.method = "GPU work is missing", .unknown = true};
}

/// What was recorded is a copy or two before the program's work.
std::string without_kernels(const Evidence& evidence) {
  if (!evidence.has_timeline()) return "";
  for (const RankEvidence& rank : evidence.ranks) {
    const auto computes = [](const GpuWork& work) {
      return is_compute(work.category) || work.category == Category::communication;
    };
    if (std::ranges::any_of(rank.list.works, computes)) return "";
  }
  return "No kernel was recorded: the GPU only copied or set memory.";
}

std::string verdict_of(Analysis& analysis, const Evidence& evidence) {
  const ProfileSession& session = *evidence.session;
  if (analysis.findings.empty() && analysis.ranks.empty()) return verdict_without_steps(session, analysis);
  const std::string copies_alone = without_kernels(evidence);
  const bool minor = analysis.findings.empty() || analysis.findings.front().severity < kWarning;
  const std::string verdict =
      minor && !copies_alone.empty() ? copies_alone : verdict_of_all(analysis, evidence.missing);
  return loss_of(session) == Loss::none ? verdict : loss_text(session) + "; of what is left of it: " + verdict;
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
  const std::string lost = lost_work(evidence);
  if (!lost.empty()) forget_losses(analysis);
  analysis.verdict = lost.empty() ? verdict_of(analysis, evidence) : lost + ".";
  analysis.cautions = cautions_of(evidence);
  if (options.tables) analysis.tables = all_tables(evidence, options.table_rows);
  if (options.tables && !lines.rows.empty()) analysis.tables.insert(analysis.tables.begin(), std::move(lines));
  analysis.missing = missing_data(evidence);
  merge_quality(session, analysis);
  return analysis;
}

std::vector<AnalysisTable> diff(const ProfileSession& before, const ProfileSession& after,
                                const AnalyzeOptions& options) {
  const Evidence first = gather_evidence(before);
  const Evidence second = gather_evidence(after);
  std::vector<AnalysisTable> tables = diff_tables(first, second, options.table_rows);
  for (const std::string& caution : cautions_of(first))
    tables[0].note += " Caution, of the earlier profile: " + caution;
  for (const std::string& caution : cautions_of(second)) tables[0].note += " Caution, of the later profile: " + caution;
  return tables;
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
