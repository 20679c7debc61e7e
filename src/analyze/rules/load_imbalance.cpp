// One rank has more to do than the others, which wait for it in every collective: their collectives look long, but it
// is not the network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/evidence/imbalance.h"
#include "analyze/names/collective_kinds.h"
#include "analyze/names/ranges.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr Advice kSameWork = {
    .kind = AdviceKind::code,
    .text = "Give all GPUs the same work: batches of equal size, samples bucketed by length, experts balanced.",
    .pytorch = "sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)",
    .jax = "items = sorted(items, key=cost)[rank::ranks]",
};
constexpr Advice kDealOut = {
    .kind = AdviceKind::code,
    .text =
        "Give all GPUs the same work: order it by cost and deal it out in turn, or move the borders of the domains.",
    .native = "std::ranges::sort(items, by_cost);  // rank r takes items r, r + ranks, r + 2 * ranks, ...",
};
constexpr Advice kSameSettings = {
    .kind = AdviceKind::code,
    .text = "Compute with the same settings on all GPUs: this one multiplies in a wider type than the others.",
    .native =
        "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);  // on every rank, and NVIDIA_TF32_OVERRIDE the same",
    .pytorch = "torch.set_float32_matmul_precision('high'); torch.backends.cudnn.allow_tf32 = True  # on every rank",
    .jax = "jax.config.update('jax_default_matmul_precision', 'tensorfloat32')  # in every process",
};
constexpr Advice kLateHost = {
    .kind = AdviceKind::code,
    .text =
        "Take off this rank what the others' hosts do not do: logging, saving, evaluation, data of its own; or do it "
        "on another thread.",
    .native = "gdb -p $(pidof PROGRAM) -batch -ex 'thread apply all bt'  # where its host is meanwhile",
    .pytorch = kPythonStacks,
    .jax = kPythonStacks,
};
constexpr const char* kMachines = "nvidia-smi dmon -s pucvmet";
constexpr Advice kCompareMachines = {
    .kind = AdviceKind::command,
    .text = "If the work is equal, compare the machines: clocks, throttling, other users of the GPU.",
    .native = kMachines,
    .pytorch = kMachines,
    .jax = kMachines,
};

constexpr Advice kSlowerGpu = {
    .kind = AdviceKind::command,
    .text =
        "Find out why this GPU is slower: its clock, temperature and power limit, other users of it; or leave this "
        "machine out.",
    .native = kMachines,
    .pytorch = kMachines,
    .jax = kMachines,
};

struct Computing {
  double kernels = 0;
  double ns = 0;
};
using ByKind = std::map<std::pair<Category, MatrixMath>, Computing>;

/// The computing of a step by `key(work)`.
template <typename Sums, typename Key>
Sums computing_by(const RankEvidence& rank, Key key) {
  Sums sums;
  for (const GpuWork& work : rank.list.works) {
    if (!is_compute(work.category) || !rank.in_steps(work)) continue;
    Computing& sum = sums[key(work)];
    sum.kernels += 1 / rank.step_count();
    sum.ns += static_cast<double>(work.end - work.start) / rank.step_count();
  }
  return sums;
}

ByKind computing_of(const RankEvidence& rank) {
  return computing_by<ByKind>(rank, [](const GpuWork& work) { return std::pair(work.category, work.math); });
}

Computing products_of(const RankEvidence& rank, bool on_tensor_cores) {
  Computing sum;
  for (const auto& [kind, computing] : computing_of(rank)) {
    const MatrixMath math = kind.second;
    const bool on = math == MatrixMath::tensor_tf32 || math == MatrixMath::tensor_half;
    if (on != on_tensor_cores || (!on && math != MatrixMath::simt_fp32 && math != MatrixMath::simt_fp64)) continue;
    sum.kernels += computing.kernels;
    sum.ns += computing.ns;
  }
  return sum;
}

double wide_ns(const RankEvidence& rank) { return products_of(rank, false).ns; }

/// The others compute the same products, or most of them, on tensor cores: this rank has as many fewer there.
bool multiplies_in_wider_type(const Evidence& evidence, const Imbalance& imbalance) {
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  const Computing wide = products_of(late, false);
  if (wide.ns <= imbalance.late_ns / 2) return false;
  if (median_of_others(evidence, imbalance.latest, wide_ns) > kMatters * wide.ns) return false;
  const auto narrow = [](const RankEvidence& rank) { return products_of(rank, true).kernels; };
  const double missing = median_of_others(evidence, imbalance.latest, narrow) - narrow(late);
  return missing >= wide.kernels / 2;
}

/// What of its lateness is its host's, and not work of its GPU.
double late_host_ns(const Evidence& evidence, const Imbalance& imbalance) {
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  double sum = imbalance.loading_ns + imbalance.lead_ns + imbalance.dispatch_ns;
  for (std::size_t i = static_cast<std::size_t>(Part::idle_data_loading); i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (!is_own_work(part)) continue;
    const auto own = [part](const RankEvidence& rank) { return rank.part_ns(part); };
    sum += std::max(0.0, late.part_ns(part) - median_of_others(evidence, imbalance.latest, own));
  }
  return sum;
}

double kernels_a_step(const RankEvidence& rank) {
  double kernels = 0;
  for (const auto& [kind, sum] : computing_of(rank)) kernels += sum.kernels;
  return kernels;
}

/// Kernels by their names and grids.
using ByLaunch = std::map<std::pair<std::string_view, std::uint64_t>, Computing>;

ByLaunch launches_of(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  return computing_by<ByLaunch>(rank, [&timeline](const GpuWork& work) {
    std::uint64_t blocks = 0;
    if (timeline.events.kind[work.event] == EventKind::kernel) {
      const LaunchShape& shape = timeline.launch_shapes[timeline.events.detail[work.event]];
      blocks = std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
    }
    return std::pair(timeline.name_of(work.event), blocks);
  });
}

/// How much longer the late rank takes for the kernels that another rank launches as often, in as large grids, if these
/// are nearly all of its kernels: then its GPU is slower. 1 where it has other work; what experts get depends on the
/// data, though their kernels are the same.
double slower_by(const Evidence& evidence, const Imbalance& imbalance) {
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  if (any_name(late.timeline->names, names_exchange_of_all)) return 1;
  const ByLaunch other = launches_of(evidence.ranks[imbalance.latest == 0 ? 1 : 0]);
  double all = 0, same = 0, usual = 0;
  for (const auto& [launch, own] : launches_of(late)) {
    all += own.ns;
    const auto found = other.find(launch);
    if (launch.second == 0 || found == other.end() ||
        std::abs(found->second.kernels - own.kernels) > kMatters * own.kernels)
      continue;
    same += own.ns;
    usual += found->second.ns;
  }
  return same >= kNearlyAll * all && usual > 0 ? same / usual : 1;
}

enum class LateBy { work, wider_type, host, slower_gpu };

struct Lateness {
  LateBy by = LateBy::work;
  std::string how;  ///< after the name of the rank
};

Lateness lateness_of(const Evidence& evidence, const Imbalance& imbalance) {
  if (multiplies_in_wider_type(evidence, imbalance)) return {LateBy::wider_type, " multiplies in a wider type"};
  if (late_host_ns(evidence, imbalance) > imbalance.late_ns / 2) return {LateBy::host, "'s host is late"};
  const double slower = slower_by(evidence, imbalance);
  if (slower < kClearlyMore) return {LateBy::work, " has more work"};
  return {LateBy::slower_gpu, fmt::format(" takes {:.2f}x as long for the same kernels", slower)};
}

std::string member_of(const Evidence& evidence, const RankEvidence& rank) {
  return (evidence.of_gpus() ? "GPU " : "Rank ") + std::to_string(rank.number());
}

void add_evidence(const Evidence& evidence, const Imbalance& imbalance, LateBy by, Finding& finding) {
  const auto name_of = [&](const RankEvidence& rank) { return member_of(evidence, rank); };
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    const std::string which = "rank_" + std::to_string(rank.place);
    finding.evidence.push_back(
        time_fact(which + "_own_work", name_of(rank) + ", own work per step", imbalance.own_ns[r]));
    finding.evidence.push_back(time_fact(which + "_waiting", name_of(rank) + ", waiting for others per step",
                                         rank.part_ns(Part::idle_waiting_for_rank)));
    if (r == kShown) break;
  }
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  const std::string others = evidence.ranks.size() != 2 ? "The others' median"
                             : evidence.of_gpus()       ? "The other GPU"
                                                        : "The other rank";
  const double kernels = kernels_a_step(late);
  if (const double usual = median_of_others(evidence, imbalance.latest, kernels_a_step);
      kernels >= kClearlyMore * usual) {
    finding.evidence.push_back(count_fact("late_kernels", name_of(late) + ", kernels per step", kernels));
    finding.evidence.push_back(count_fact("usual_kernels", others + ", kernels per step", usual));
  }
  if (const auto doings = doings_in(late, Part::idle_host_work); by == LateBy::host && !doings.empty()) {
    const std::string what = doings.front().name.empty() ? "does what was not recorded" : "runs " + doings.front().name;
    finding.evidence.push_back(
        time_fact("late_host", name_of(late) + ", GPU idle while its host " + what, doings.front().ns));
  }
  if (by == LateBy::wider_type) {
    finding.evidence.push_back(
        time_fact("late_wide_products", name_of(late) + ", products outside of tensor cores per step", wide_ns(late)));
  }
  const auto dispatch_of = [](const RankEvidence& rank) { return rank.dispatch_ns(); };
  if (const double usual = median_of_others(evidence, imbalance.latest, dispatch_of);
      usual > 0 && late.dispatch_ns() >= kClearlyMore * usual) {
    finding.evidence.push_back(
        time_fact("late_dispatch", name_of(late) + ", host time to dispatch a step", late.dispatch_ns()));
    finding.evidence.push_back(time_fact("usual_dispatch", others + ", host time to dispatch a step", usual));
  }
}

std::vector<Finding> apply_load_imbalance(const Evidence& evidence) {
  const Imbalance& imbalance = evidence.attribution.imbalance;
  if (imbalance.own_ns.empty()) return {};
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  const double step = late.undisturbed_step_ns();
  const double lost = evidence.attribution.lost_ns(AttributedTo::load_imbalance);
  if (lost <= 0) return {};
  const auto [by, how] = lateness_of(evidence, imbalance);
  Finding finding = make_finding(kLoadImbalanceRule, lost, step,
                                 member_of(evidence, late) + how + ": the others wait " + time_text(lost) +
                                     " per step (" + format_percent(lost / step) + ") for it");
  add_evidence(evidence, imbalance, by, finding);
  if (by == LateBy::wider_type) advise(evidence, {kSameSettings}, finding);
  if (by == LateBy::host) {
    advise(evidence, {kLateHost, kCompareMachines}, finding);
    show_idle(late, {Part::idle_host_work, Part::idle_sync, Part::idle_blocking_call, Part::idle_allocation}, finding);
  } else {
    if (by == LateBy::slower_gpu)
      advise(evidence, {kSlowerGpu}, finding);
    else
      advise(evidence, {kSameWork, kDealOut, kCompareMachines}, finding);
    show_works(
        late, [&late](std::size_t i) { return is_compute(late.list.works[i].category); }, finding);
  }
  // The excess goes, or is spread over all ranks: then their mean is left.
  const double gone = step / std::max(step - lost, 1.0), spread = step / std::max(step - imbalance.mean_late_ns, 1.0);
  finding.gain = {std::min(gone, spread), gone, "the excess spread over all GPUs, or gone"};
  return {finding};
}

}  // namespace

constinit const Rule kLoadImbalanceRule = {"load_imbalance", "load_imbalance", "Does one rank make the others wait?",
                                           Need::several_ranks, apply_load_imbalance};

}  // namespace warpmark::analyze
