#include "analyze/evidence/host_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyze/evidence/severity.h"
#include "analyze/names/words.h"
#include "analyze/recorded/intervals.h"
#include "base/units.h"
#include "model/finding.h"

namespace warpmark::analyze {
namespace {

/// The thread that makes the steps: other threads may load ahead of it, which nothing waits for.
std::optional<std::uint32_t> main_track_of(const Timeline& timeline) {
  std::optional<std::uint32_t> of_loader;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    const auto name = timeline.name_of(i);
    if (names_profiled_step(name)) return timeline.events.track[i];
    if (!of_loader && loader_of(name) != Loader::none) of_loader = timeline.events.track[i];
  }
  return of_loader;
}

/// From the beginning of each batch to that of the next one.
std::vector<Interval> between_batches(const std::vector<Interval>& batches) {
  std::vector<Interval> steps;
  for (std::size_t i = 1; i < batches.size(); ++i) steps.push_back({batches[i - 1].start, batches[i].start});
  return steps;
}

}  // namespace

std::optional<HostPhases> host_phases_of(const Timeline& timeline) {
  HostPhases phases;
  const auto track = main_track_of(timeline);
  if (!track) return std::nullopt;
  const std::vector<Loader> loaders = known_by_names(timeline.names, loader_of);
  std::vector<Interval> steps, loading, optimizer, inside;
  const std::int64_t process = timeline.tracks[*track].process;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    const auto name = timeline.name_of(i);
    const Interval event{timeline.events.start[i], timeline.events.start[i] + timeline.events.duration[i]};
    const Loader loader = loaders[timeline.events.name[i]];
    const bool by_torch = timeline.events.kind[i] == EventKind::op || loader != Loader::none;
    if (by_torch && timeline.tracks[timeline.events.track[i]].process == process) inside.push_back(event);
    if (timeline.events.track[i] != *track) continue;
    if (names_profiled_step(name)) {
      steps.push_back(event);
    } else if (loader != Loader::none) {
      loading.push_back(event);
      phases.loader = std::max(phases.loader, loader);
    } else if (names_optimizer_step(name)) {
      optimizer.push_back(event);
    }
  }
  loading = united(std::move(loading));
  if (steps.size() < 2) steps = between_batches(loading);
  const auto whole = united(steps);
  const auto total = static_cast<double>(total_length(whole));
  phases.steps = static_cast<std::int64_t>(steps.size());
  if (phases.steps < 2 || total <= 0) return std::nullopt;
  phases.step_s = total * 1e-9 / static_cast<double>(phases.steps);
  phases.loading = static_cast<double>(overlap_length(whole, loading)) / total;
  inside.insert(inside.end(), optimizer.begin(), optimizer.end());
  phases.optimizer = static_cast<double>(overlap_length(whole, united(std::move(optimizer)))) / total;
  phases.outside = 1 - static_cast<double>(overlap_length(whole, united(std::move(inside)))) / total;
  return phases;
}

std::string text_of(const HostPhases& phases) {
  return fmt::format(
      "No GPU work was recorded. On the host, {} steps of {}: {} waiting for the loader, {} in the optimizer, {} "
      "outside "
      "of PyTorch.",
      phases.steps, format_seconds(phases.step_s), format_percent(phases.loading), format_percent(phases.optimizer),
      format_percent(phases.outside));
}

std::vector<Finding> findings_of(const HostPhases& phases) {
  std::vector<Finding> findings;
  const auto add = [&](const char* rule, double share, const std::string& title, const char* id,
                       const std::string& where, Recommendation fix) {
    if (severity_of(share, 1) < kWorthFixing) return;
    Finding finding{.rule = rule, .kind = rule, .severity = severity_of(share, 1)};
    finding.title = title;
    finding.evidence.push_back({.text = fmt::format("{} of {} per step {}", format_seconds(share * phases.step_s),
                                                    format_seconds(phases.step_s), where),
                                .id = id,
                                .value = share,
                                .unit = "ratio"});
    finding.recommendations.push_back(std::move(fix));
    finding.gain.high = amdahl(share, 1);
    finding.gain.method = "Amdahl's law: that share of the step removed";
    findings.push_back(std::move(finding));
  };
  add("data_loading", phases.loading,
      fmt::format("The steps wait {} of their time for the loader", format_percent(phases.loading)), "loading_share",
      "within the loader",
      {.kind = AdviceKind::code,
       .text = phases.loader == Loader::multi ? "Use more workers, or less work per sample: the workers do not keep up."
                                              : "Load batches in worker processes, ahead of the step.",
       .snippet = "DataLoader(dataset, batch_size=B, num_workers=max(1, cores - 1), persistent_workers=True)",
       .id = {},
       .gain = {}});
  add("host_work", phases.outside,
      fmt::format("The steps spend {} of their time outside of PyTorch", format_percent(phases.outside)),
      "outside_share", "in no operator and no loader",
      {.kind = AdviceKind::command,
       .text = "See which functions of the program take the time.",
       .snippet = "py-spy record --gil -o host.svg -- <command>",
       .id = {},
       .gain = {}});
  std::ranges::stable_sort(findings, std::greater(), &Finding::severity);
  return findings;
}

}  // namespace warpmark::analyze
