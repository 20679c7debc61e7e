#include "analyze/recommendations/kernel_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyze/names/kernel_names.h"
#include "analyze/names/words.h"
#include "analyze/recommendations/advice.h"
#include "analyze/recommendations/findings.h"

namespace warpmark::analyze {

namespace {

std::string stem(std::string_view name) { return std::string(stem_of(name)); }

/// Each with its part in the whole: a launch counts as much as any other where no time was measured.
std::map<std::string, KernelGroup> grouped(const Evidence& evidence) {
  std::map<std::string, KernelGroup> groups = kernels_by_name(evidence);
  const bool times_known = std::ranges::any_of(groups, [](const auto& one) { return one.second.total_ns > 0; });
  for (auto& [name, group] : groups)
    group.total_ns = times_known ? group.total_ns : static_cast<double>(group.launches);
  if (!evidence.has_timeline()) return groups;
  std::map<std::string, double> in_steps;
  const RankEvidence& rank = evidence.rank();
  for (const GpuWork& work : rank.list.works) {
    if (!is_compute(work.category) || !rank.in_steps(work)) continue;
    in_steps[stem(rank.timeline->name_of(work.event))] +=
        static_cast<double>(work.end - work.start) / rank.step_count();
  }
  bool any = false;
  for (const auto& [name, group] : groups) any = any || in_steps.contains(stem(name));
  if (!any) return groups;
  for (auto& [name, group] : groups) {
    const auto found = in_steps.find(stem(name));
    group.total_ns = found == in_steps.end() ? 0 : found->second;
  }
  return groups;
}

double whole_ns(const Evidence& evidence, const std::map<std::string, KernelGroup>& groups) {
  double profiled = 0;
  for (const auto& [name, group] : groups) profiled += group.total_ns;
  if (!evidence.has_timeline()) return profiled;
  return std::max(profiled, evidence.rank().undisturbed_step_ns());
}

/// What Nsight Compute's own rules ask, by ours.
constexpr std::pair<std::string_view, std::string_view> kSameQuestion[] = {
    {"uncoalesced_access", "UncoalescedGlobalAccess"},
    {"uncoalesced_access", "MemoryCacheAccessPattern"},
    {"warp_divergence", "ThreadDivergence"},
    {"occupancy", "TheoreticalOccupancy"},
    {"occupancy", "AchievedOccupancy"},
    {"tail_effect", "LaunchConfiguration"},
    {"memory_bound_kernel", "SharedMemoryConflicts"},
    {"register_spills", "LocalMemoryUsage"},
};

/// Where the metrics are not in the file, as on a page of details: its highest estimate for the whole kernel, as far as
/// the kernel works at what it is about.
std::optional<KernelSaving> judge_by_text(std::string_view rule, const KernelProfile& profile) {
  std::optional<KernelSaving> best;
  for (const KernelRuleText& text : profile.rules) {
    const bool same = std::ranges::count(kSameQuestion, std::pair(rule, std::string_view(text.name))) > 0;
    const double fraction = text.speedup_percent / 100 * best_throughput(profile);
    if (!same || text.speedup_type != "global" || (best && best->fraction >= fraction)) continue;
    best = KernelSaving{fraction, fmt::format("{} (Nsight Compute, {})", first_sentence(text.description), text.name),
                        "estimated_saving", text.speedup_percent / 100, ""};
  }
  return best;
}

}  // namespace

// cuBLASLt proposes several algorithms for a product ("cublasLtMatmulAlgoGetHeuristic").
constinit const Advice kChooseOtherKernel = {
    .kind = AdviceKind::code,
    .text = "Give kernels of libraries and compilers larger and rounder shapes, or let the library try other kernels.",
    .native =
        "cublasLtMatmulAlgoGetHeuristic(handle, product, a, b, c, d, preference, 8, results, &found);  // time each",
    .pytorch = "model = torch.compile(model, mode='max-autotune')",
    .jax = "os.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level=4'  # before import jax",
};

std::map<std::string, KernelGroup> kernels_by_name(const Evidence& evidence) {
  std::map<std::string, KernelGroup> groups;
  for (const KernelProfile& profile : evidence.session->kernels) {
    KernelGroup& group = groups[profile.name];
    const double ns = profile.metric("gpu__time_duration.sum").value_or(0);
    ++group.launches, group.total_ns += ns;
    if (ns > group.longest_ns) group.longest = &profile, group.longest_ns = ns;
  }
  return groups;
}

std::vector<Finding> kernel_finding(const Rule& rule, const Evidence& evidence, const std::string& title,
                                    std::vector<Recommendation> recommendations,
                                    const std::function<std::optional<KernelSaving>(const KernelProfile&)>& judge,
                                    const Advice& of_library) {
  const auto groups = grouped(evidence);
  const double whole = whole_ns(evidence, groups);
  struct Hit {
    const KernelProfile* profile;
    KernelSaving saving;
    double lost_ns;
  };
  std::vector<Hit> hits;
  double lost = 0;
  for (const auto& [name, group] : groups) {
    if (group.longest == nullptr) continue;
    auto saving = judge(*group.longest);
    if (!saving) saving = judge_by_text(rule.id, *group.longest);
    if (!saving || saving->fraction <= 0) continue;
    hits.push_back({group.longest, *saving, group.total_ns * saving->fraction});
    lost += hits.back().lost_ns;
  }
  if (hits.empty() || whole <= 0) return {};
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.lost_ns > b.lost_ns; });
  const char* own = hits.front().saving.title;
  const bool same =
      own != nullptr && std::ranges::all_of(hits, [own](const Hit& hit) { return hit.saving.title == own; });
  Finding finding =
      make_finding(rule, lost, whole,
                   (same ? own : title) + " in " + std::to_string(hits.size()) +
                       (hits.size() == 1 ? " kernel" : " kernels") + ", worst " + stem(hits.front().profile->name));
  for (std::size_t i = 0; i < std::min(hits.size(), kShown); ++i) {
    finding.evidence.push_back(
        {stem(hits[i].profile->name) + " (launch " + std::to_string(hits[i].profile->id) + "): " + hits[i].saving.text,
         hits[i].saving.id, hits[i].saving.value, hits[i].saving.unit});
  }
  const auto is_library = [](const Hit& hit) { return is_of_library(hit.profile->name); };
  const bool some = std::any_of(hits.begin(), hits.end(), is_library);
  const bool all = std::all_of(hits.begin(), hits.end(), is_library);
  if (!all) finding.recommendations = std::move(recommendations);
  for (const Hit& hit : hits) {
    if (is_library(hit)) continue;
    for (const Recommendation& fix : hit.saving.fixes) {
      const bool known =
          std::ranges::find(finding.recommendations, fix.text, &Recommendation::text) != finding.recommendations.end();
      if (!known) finding.recommendations.push_back(fix);
    }
  }
  if (some) advise(evidence, {of_library}, finding);
  finding.gain =
      at_most(amdahl(lost, whole),
              "share of the kernels' time that the metric leaves unused; at most, as another limit may follow");
  return {finding};
}

namespace {

/// Of "(256, 2, 1)" the product, 512; 0 if there are no numbers.
double threads_of(std::string_view block) {
  double threads = 0, number = -1;
  for (const char c : block) {
    if (c >= '0' && c <= '9') {
      number = std::max(number, 0.0) * 10 + (c - '0');
    } else if (number >= 0) {
      threads = std::max(threads, 1.0) * std::exchange(number, -1.0);
    }
  }
  return threads;
}

}  // namespace

double unused_by_small_grid(const KernelProfile& profile) {
  const auto waves = profile.metric("launch__waves_per_multiprocessor");
  if (!waves || *waves <= 0 || *waves >= 1) return 0;
  const double grid = profile.metric("launch__grid_size").value_or(0);
  const double sms = profile.metric("launch__sm_count").value_or(0);
  if (sms > 0 && grid > 0) return std::max(0.0, 1 - grid / sms);
  // As many blocks as the occupancy allows fit a multiprocessor, which holds 64 warps (CUDA C++ Programming Guide,
  // "Compute Capabilities").
  const auto occupancy = profile.metric("sm__maximum_warps_per_active_cycle_pct");
  const double warps = std::ceil(profile.metric("launch__block_size").value_or(threads_of(profile.block)) / 32);
  if (!occupancy || warps <= 0) return 0;
  return std::max(0.0, 1 - *waves * std::max(1.0, *occupancy / 100 * 64 / warps));
}

bool has_small_grid(const KernelProfile& profile) { return unused_by_small_grid(profile) * 100 >= 100 - kNcuHigh; }

std::optional<double> memory_throughput(const KernelProfile& profile) {
  const auto all = profile.metric("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed");
  return all ? all : profile.metric("dram__throughput.avg.pct_of_peak_sustained_elapsed");
}

double best_throughput(const KernelProfile& profile) {
  const double compute = profile.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed").value_or(0);
  const double memory = memory_throughput(profile).value_or(0);
  return std::clamp(std::max(compute, memory) / 100, 0.0, 1.0);
}

}  // namespace warpmark::analyze
