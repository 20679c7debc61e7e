// One sentence that says it all: the top finding, or that nothing is worth fixing, or why nothing can be said.
#include "analyze/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/analyze.h"
#include "analyze/cautions.h"
#include "analyze/evidence/host_phases.h"
#include "analyze/evidence/severity.h"
#include "analyze/names/api_calls.h"
#include "analyze/recommendations/strongest.h"
#include "analyze/recorded/collective_benchmarks.h"
#include "analyze/recorded/recording_cost.h"
#include "analyze/rules/rules.h"
#include "analyze/verdicts_without_steps.h"
#include "base/units.h"

namespace warpmark::analyze {

namespace {

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
  const auto nvlink = best->unused_nvlink();
  return fmt::format(
      "Communication alone: up to {:.1f} GB/s of bus bandwidth ({}, {} ranks){}; no program was recorded.",
      best->peak_bus_bandwidth * 1e-9, best->collective, best->ranks,
      nvlink
          ? fmt::format(", which PCIe carries: the NVLink of {} has {:.0f} GB/s and is not used (NCCL_DEBUG=INFO and "
                        "nvidia-smi topo -m show why)",
                        best->gpu, *nvlink * 1e-9)
          : "");
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
  if (analysis.of_one_process && cause == "waiting for rank") cause = "waiting for another GPU";
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

/// What is left of the step may be busy only because the estimate of what recording took is too large.
std::string doubt_of_estimate(const Analysis& analysis, const Evidence& evidence) {
  const double recorded = analysis.undisturbed_step_ns + analysis.recording_ns;
  if (severity_of(analysis.recording_ns, recorded) < kWarning) return "";
  if (measured_inflation(*evidence.rank().timeline)) return "";
  return fmt::format(
      " This assumes that the profiler caused {} of the recorded step, in which the GPU idles: time a step without it.",
      format_percent(analysis.recording_ns / recorded));
}

/// The first fix of what is no fault but a decision, as TF32 is, where it would gain a tenth at least.
std::string worth_trying(const Finding& largest) {
  const bool gains = !largest.gain.unknown && largest.gain.low >= 1 + kWorthFixing;
  return gains && !largest.recommendations.empty() ? clause_of(largest.recommendations.front()) : "";
}

std::string healthy_verdict(const Analysis& analysis, const Evidence& evidence) {
  const MissingWork& missing = evidence.missing;
  const double unexplained = unexplained_idle(analysis);
  if (severity_of(unexplained, 1) > kMostOfANote) return unexplained_verdict(analysis, missing, unexplained);
  const std::string scattered = scattered_idle(analysis);
  const std::string begin = scattered.empty() ? "No significant bottleneck." : scattered;
  const std::string doubt = doubt_of_estimate(analysis, evidence);
  if (analysis.findings.empty() || analysis.findings.front().severity <= 0) return begin + doubt;
  const Finding& largest = analysis.findings.front();
  const std::string speedup = speedup_text(largest.gain);
  const std::string gain = speedup == "up to 1.00x" ? "" : ", estimated speedup " + speedup;
  const double share = largest.lost_ns > 0 && analysis.undisturbed_step_ns > 0
                           ? static_cast<double>(largest.lost_ns) / analysis.undisturbed_step_ns
                           : largest.severity / 2;
  const char* of = analysis.ranks.empty() ? "time" : "step";
  if (const std::string fix = worth_trying(largest); scattered.empty() && !fix.empty()) {
    return fmt::format("No fault stands out. Worth trying: {} ({}, {} of the {}): estimated speedup {}.{}", fix,
                       largest.rule, format_percent(share), of, speedup, doubt);
  }
  // What slows the machine down is in its samples: what of the time it costs is an estimate.
  const bool sampled = largest.kind == "environment" && analysis.ranks.empty();
  const std::string candidate = sampled
                                    ? fmt::format("{} ({}{})", largest.title, largest.rule, gain)
                                    : fmt::format("{} ({} of the {}{})", largest.rule, format_percent(share), of, gain);
  return begin + " Largest candidate: " + candidate + "." + doubt;
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
std::string verdict_of_all(const Analysis& analysis, const Evidence& evidence) {
  const MissingWork& missing = evidence.missing;
  if (analysis.findings.empty() || analysis.findings.front().severity < kWarning)
    return healthy_verdict(analysis, evidence);
  const Finding& top = analysis.findings.front();
  std::string gain = top.gain.unknown ? "not known" : speedup_text(top.gain);
  if (top.gain.per_sample) gain += " samples per second";
  const double unexplained = unexplained_idle(analysis);  // more than what is known: that comes first
  const std::string idle =
      severity_of(unexplained, 1) > top.severity ? unexplained_verdict(analysis, missing, unexplained) + " " : "";
  return idle + fmt::format("{} ({}). Estimated speedup if fixed: {}.{}", top.title, top.rule, gain, fixes_named(top));
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

/// A finding of the rank that the others wait for is all ranks' loss.
std::string late_rank_text(const Analysis& analysis, const Evidence& evidence) {
  const bool communicates = !analysis.findings.empty() && analysis.findings.front().rule == kMultiGpuCommRule.id &&
                            analysis.findings.front().severity >= kWarning;
  const auto read = static_cast<int>(evidence.session->ranks.size());
  if (const int world = world_size(*evidence.session); communicates && read > 0 && world > read) {
    return fmt::format(" Only {} of {} ranks {} read: waiting for another rank looks like communication.", read, world,
                       read == 1 ? "was" : "were");
  }
  if (evidence.ranks.size() < 2 || !evidence.of_one_program()) return "";
  if (analysis.findings.empty() || analysis.findings.front().rule == kLoadImbalanceRule.id) return "";
  const bool in_turn = evidence.of_gpus() || evidence.rank().alignment.by_messages;
  if (in_turn && analysis.findings.front().rule == kMultiGpuCommRule.id) return "";  // it says so
  const auto waits = [](const RankEvidence& rank) {
    return rank.part_ns(Part::idle_waiting_for_rank) / rank.undisturbed_step_ns();
  };
  const double own = waits(evidence.rank());
  double share = -own;
  for (const RankEvidence& rank : evidence.ranks) share += waits(rank);
  share /= static_cast<double>(evidence.ranks.size() - 1);
  if (severity_of(share, 1) < kWarning) return "";
  const char* kind = evidence.of_gpus() ? "GPU" : "rank";
  if (2 * own > share)
    return fmt::format(" The {}s wait {} of the step for one another: each is late in turn.", kind,
                       format_percent(share));
  return fmt::format(" The other {}s wait {} of the step for {} {}.", kind, format_percent(share), kind,
                     evidence.rank().number());
}

struct Paused {
  std::string text;
  double waiting_share = 0;  ///< for input or requests, of the time of all steps and pauses
};

/// Steps that were left out for something that has a name, if they take as much as a tenth of the time.
Paused paused_by(const RankEvidence& rank) {
  struct ByName {
    double ns = 0, whole_ns = 0, computing_ns = 0;
  };
  double paused = 0;
  std::map<std::string, ByName> by_name;
  for (const StepPause& pause : rank.steps.pauses) {
    if (pause.name.empty()) continue;
    const auto same = std::ranges::find_if(
        by_name, [&](const auto& one) { return without_digits(one.first) == without_digits(pause.name); });
    ByName& sum = same == by_name.end() ? by_name[pause.name] : same->second;
    const double whole_ns = static_cast<double>(pause.end_ns - pause.start_ns);
    sum.ns += whole_ns - rank.step_ns();
    sum.whole_ns += whole_ns;
    sum.computing_ns += static_cast<double>(rank.computing.covered(pause.start_ns, pause.end_ns));
    paused += whole_ns - rank.step_ns();
  }
  const auto steps = static_cast<double>(rank.steps.found - std::ssize(rank.steps.pauses));
  const double all = paused + steps * rank.step_ns();
  if (paused == 0 || paused < (1 - kNearlyAll) * all) return {};
  const auto& [name, sum] = *std::ranges::max_element(by_name, {}, [](const auto& one) { return one.second.ns; });
  if (waits_for_input(name)) {
    return {fmt::format("Between steps the program waits for input or requests for {} of the time, {} in all, in {}.",
                        format_percent(sum.ns / all), time_text(sum.ns), name),
            sum.ns / all};
  }
  const bool computes = sum.computing_ns >= kNearlyAll * sum.whole_ns;
  return {fmt::format("Between steps {} takes {} in all{}.", name, time_text(sum.ns),
                      computes ? " and keeps the GPU busy" : "")};
}

}  // namespace

std::string verdict_of(Analysis& analysis, const Evidence& evidence) {
  const ProfileSession& session = *evidence.session;
  if (analysis.findings.empty() && analysis.ranks.empty()) return verdict_without_steps(session, analysis);
  const std::string copies_alone = without_kernels(evidence);
  const bool minor = analysis.findings.empty() || analysis.findings.front().severity < kWarning;
  std::string verdict = minor && !copies_alone.empty() ? copies_alone : verdict_of_all(analysis, evidence);
  verdict += late_rank_text(analysis, evidence);
  if (const Paused paused = evidence.has_timeline() ? paused_by(evidence.rank()) : Paused(); !paused.text.empty())
    verdict = paused.waiting_share > 0.5 ? paused.text + " In the steps: " + verdict : verdict + " " + paused.text;
  if (const auto start_up = start_up_of(evidence)) {
    verdict = start_up->text + (start_up->is_all ? "." : ". Of that: " + verdict);
  }
  return loss_of(session) == Loss::none ? verdict : loss_text(session) + "; of what is left of it: " + verdict;
}

std::string lost_work(const Evidence& evidence) {
  if (loss_of(*evidence.session) != Loss::none) return "";  // which says more
  const MissingWork& sum = evidence.missing;
  const bool graphs = sum.graphs_without_work * 2 >= std::max<std::int64_t>(1, sum.graph_launches);
  if (!graphs && (sum.launches_without_work == 0 || sum.launches_without_work * 2 < sum.launches)) return "";
  return fmt::format(
      "GPU work is missing: {} of {} {} left no kernel in the recording, so the utilization of the GPU is unknown. {}",
      graphs ? sum.graphs_without_work : sum.launches_without_work, graphs ? sum.graph_launches : sum.launches,
      graphs ? "CUDA graph launches" : "kernel launches",
      sum.captures ? "The program captured CUDA graphs: record it while it replays them"
      : graphs     ? "Record again with kernels of graphs (warpmark profile; nsys profile --cuda-graph-trace=node)"
                   : "Record the GPU's activity, too (warpmark profile; nsys profile --trace=cuda)");
}

}  // namespace warpmark::analyze
