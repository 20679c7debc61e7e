// One rank has more to do than the others, which wait for it in every collective: their collectives look long, but it
// is not the network.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "analyze/evidence/imbalance.h"
#include "analyze/names/kernel_names.h"
#include "analyze/names/ranges.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

// Kernels that a rank launches beyond the others with the same program on more or longer samples: those of a step at
// the borders of what was recorded, and choices of libraries by size.
constexpr double kHardlyMore = 0.9;
constexpr double kHardlyMoreShare = 0.05;
constexpr double kWiderElsewhere = 0.1;  // of the late rank's products outside of tensor cores, on others
constexpr double kNextToNothing = 0.05;  // of the late rank's own work: it does the program's, which cannot go

constexpr Advice kSameWork = {
    .kind = AdviceKind::code,
    .text = "Give all ranks the same work: batches of equal size, samples bucketed by length, experts balanced.",
    .pytorch = "sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)",
    .jax = "items = sorted(items, key=cost)[rank::ranks]",
};
constexpr Advice kDealOut = {
    .kind = AdviceKind::code,
    .text =
        "Give all ranks the same work: order it by cost and deal it out in turn, or move the borders of the domains.",
    .native = "std::ranges::sort(items, by_cost);  // rank r takes items r, r + ranks, r + 2 * ranks, ...",
};
constexpr Advice kSameSettings = {
    .kind = AdviceKind::code,
    .text = "Compute with the same settings on all ranks: this one multiplies in a wider type than the others.",
    .native =
        "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);  // on every rank, and NVIDIA_TF32_OVERRIDE the same",
    .pytorch = "torch.set_float32_matmul_precision('high'); torch.backends.cudnn.allow_tf32 = True  # on every rank",
    .jax = "jax.config.update('jax_default_matmul_precision', 'tensorfloat32')  # in every process",
};
constexpr const char* kMachines = "nvidia-smi dmon -s pucvmet";
constexpr Advice kCompareMachines = {
    .kind = AdviceKind::command,
    .text = "If the work is equal, compare the machines: clocks, throttling, other users of the GPU.",
    .native = kMachines,
    .pytorch = kMachines,
    .jax = kMachines,
};

struct Computing {
  double kernels = 0;
  double ns = 0;
};
using ByKind = std::map<std::pair<Category, MatrixMath>, Computing>;
using ByName = std::map<std::string_view, Computing>;

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

/// Without the optimizer (it goes to no name), which runs once a step whatever there was to compute.
ByName kernels_of(const RankEvidence& rank) {
  ByName sums = computing_by<ByName>(rank, [&rank](const GpuWork& work) {
    return work.category == Category::optimizer ? std::string_view{} : rank.timeline->name_of(work.event);
  });
  sums.erase(std::string_view{});
  return sums;
}

/// Whether a rank does all that this other one does, but more often: more batches a step, more layers of a kind. What
/// only it does (a teacher's forward pass, a validation) launches some of the kernels more often, or others.
bool does_the_same_more_often(const ByName& late, const ByName& usual) {
  constexpr double kAlike = 0.15, kMost = 0.8;
  std::vector<std::pair<double, double>> times;  // how many times as often, and for how long
  double all = 0;
  for (const auto& [name, more] : late) {
    const auto found = usual.find(name);
    times.emplace_back(found == usual.end() ? 0 : more.kernels / found->second.kernels, more.ns);
    all += more.ns;
  }
  std::ranges::sort(times);
  double below = 0, median = 0, alike = 0;
  for (const auto& [ratio, ns] : times) {
    if (below <= all / 2) median = ratio;
    below += ns;
  }
  for (const auto& [ratio, ns] : times) alike += std::abs(ratio - median) <= kAlike * median ? ns : 0;
  return median >= kClearlyMore && alike >= kMost * all;
}

/// Whether the others wait mostly for what a rank sends them (a broadcast, a message), not for its part in what all do.
/// PyTorch's DistributedDataParallel sends a model's buffers before each forward pass: they are no result.
bool wait_for_results(const RankEvidence& rank) {
  const Timeline& timeline = *rank.timeline;
  const auto forward = timeline.names.find(kDdpForward);
  const auto within_forward = [&](EventIndex event) {
    return any_around(rank.list, event, [&](EventIndex at) { return timeline.events.name[at] == *forward; });
  };
  double results = 0, all = 0;
  for (std::size_t i = 0; i < rank.list.works.size() && i < rank.alignment.wait_until.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (rank.alignment.wait_until[i] <= work.start || !rank.in_steps(work)) continue;
    const auto waited = static_cast<double>(rank.alignment.wait_until[i] - work.start);
    all += waited;
    const bool sent = sends_results(timeline.name_of(work.event));
    if (sent && !(forward && within_forward(work.launch))) results += waited;
  }
  return results > all / 2;
}

/// Of the late rank's excess, ns a step, what is there for more or longer samples: the other ranks launch as many
/// kernels of the kind, and the late rank's take longer. It does not go away, but can be spread over all ranks. What
/// only the late rank launches, and what its host does (loading, writing, reading back), is of no use to the others,
/// and goes. Eight programs on two GPUs gained what this tells within a factor of 1.5, five of them within 1.1;
/// half-way between both was off by up to 6.2.
/// What it makes for the others, who wait until it is sent, is theirs to do as well.
double to_be_spread_ns(const Evidence& evidence, const Imbalance& imbalance) {
  for (const RankEvidence& rank : evidence.ranks) {
    const bool other = &rank != &evidence.ranks[imbalance.latest];
    if (other && wait_for_results(rank)) return imbalance.explained_ns();
  }
  if (imbalance.others_ns() < kNextToNothing * imbalance.own_ns[imbalance.latest]) return imbalance.explained_ns();
  const RankEvidence& late_rank = evidence.ranks[imbalance.latest];
  const ByName of_late = kernels_of(late_rank);
  const bool more_often = std::ranges::all_of(evidence.ranks, [&](const RankEvidence& rank) {
    return &rank == &late_rank || does_the_same_more_often(of_late, kernels_of(rank));
  });
  if (more_often) return imbalance.explained_ns();
  ByKind usual_of;  // mean of the others
  const auto others = static_cast<double>(evidence.ranks.size() - 1);
  for (const RankEvidence& rank : evidence.ranks) {
    if (&rank == &late_rank) continue;
    for (const auto& [kind, sum] : computing_of(rank)) {
      usual_of[kind].kernels += sum.kernels / others;
      usual_of[kind].ns += sum.ns / others;
    }
  }
  double spread = 0;
  for (const auto& [kind, late] : computing_of(late_rank)) {
    const Computing& usual = usual_of[kind];
    const double more = late.kernels - usual.kernels;
    if (more < std::max(kHardlyMore, kHardlyMoreShare * usual.kernels)) spread += std::max(0.0, late.ns - usual.ns);
  }
  return std::min(spread, imbalance.explained_ns());
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
  if (median_of_others(evidence, imbalance.latest, wide_ns) > kWiderElsewhere * wide.ns) return false;
  const auto narrow = [](const RankEvidence& rank) { return products_of(rank, true).kernels; };
  const double missing = median_of_others(evidence, imbalance.latest, narrow) - narrow(late);
  return missing >= wide.kernels / 2;
}

double kernels_a_step(const RankEvidence& rank) {
  double kernels = 0;
  for (const auto& [kind, sum] : computing_of(rank)) kernels += sum.kernels;
  return kernels;
}

/// `wider`: multiplies_in_wider_type().
void add_evidence(const Evidence& evidence, const Imbalance& imbalance, bool wider, Finding& finding) {
  const auto name_of = [](const RankEvidence& rank) { return "Rank " + std::to_string(rank.number()); };
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    const std::string which = "rank_" + std::to_string(rank.index);
    finding.evidence.push_back(
        time_fact(which + "_own_work", name_of(rank) + ", own work per step", imbalance.own_ns[r]));
    finding.evidence.push_back(time_fact(which + "_waiting", name_of(rank) + ", waiting for others per step",
                                         rank.part_ns(Part::idle_waiting_for_rank)));
    if (finding.evidence.size() >= 16) break;
  }
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  const std::string others = evidence.ranks.size() == 2 ? "The other rank" : "The others' median";
  const double kernels = kernels_a_step(late);
  if (const double usual = median_of_others(evidence, imbalance.latest, kernels_a_step);
      kernels >= kClearlyMore * usual) {
    finding.evidence.push_back(count_fact("late_kernels", name_of(late) + ", kernels per step", kernels));
    finding.evidence.push_back(count_fact("usual_kernels", others + ", kernels per step", usual));
  }
  if (wider) {
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

/// Now one rank has more to compute, now another: steps of different sizes, drawn by each rank on its own.
Finding of_turns(const Evidence& evidence) {
  const Imbalance& imbalance = evidence.attribution.imbalance;
  const double step = evidence.rank().undisturbed_step_ns();
  const double most = evidence.attribution.lost_ns(Claimant::load_imbalance);
  Finding finding = make_finding(kLoadImbalanceRule, most, step,
                                 "Ranks have more work in turns: one waits " + time_text(most) + " a step (" +
                                     format_percent(most / step) + ") for others");
  add_evidence(evidence, imbalance, multiplies_in_wider_type(evidence, imbalance), finding);
  advise(evidence, {kSameWork, kDealOut}, finding);
  const auto waits_most = std::ranges::max_element(imbalance.in_turns_ns) - imbalance.in_turns_ns.begin();
  const RankEvidence& waiting = evidence.ranks[static_cast<std::size_t>(waits_most)];
  show_works(
      waiting, [&waiting](std::size_t i) { return waiting.list.works[i].category == Category::communication; },
      finding);
  double mean = 0;
  for (const double ns : imbalance.in_turns_ns) mean += ns / static_cast<double>(imbalance.in_turns_ns.size());
  finding.gain = gain_around(step / std::max(step - mean, kNextToNothing * step), kLoadImbalanceRule.calibration,
                             "each step's work spread over all ranks");
  return finding;
}

std::vector<Finding> apply(const Evidence& evidence) {
  const Imbalance& imbalance = evidence.attribution.imbalance;
  if (!imbalance.in_turns_ns.empty()) return {of_turns(evidence)};
  const RankEvidence& late = evidence.ranks[imbalance.latest];
  const double step = late.undisturbed_step_ns();
  const double lost = evidence.attribution.lost_ns(Claimant::load_imbalance);
  if (lost <= 0.001 * step) return {};
  const bool wider = multiplies_in_wider_type(evidence, imbalance);
  Finding finding = make_finding(kLoadImbalanceRule, lost, step,
                                 "Rank " + std::to_string(late.number()) +
                                     (wider ? " multiplies in a wider type" : " has more work") + ": the others wait " +
                                     time_text(lost) + " a step (" + format_percent(lost / step) + ") for it");
  add_evidence(evidence, imbalance, wider, finding);
  if (wider) advise(evidence, {kSameSettings}, finding);
  advise(evidence, {kSameWork, kDealOut, kCompareMachines}, finding);
  show_works(
      late, [&late](std::size_t i) { return is_compute(late.list.works[i].category); }, finding);
  const double spread = to_be_spread_ns(evidence, imbalance);
  const double kept = spread * (1 - imbalance.mean_late_ns / imbalance.late_ns);
  const double after = std::max({step - lost + kept, imbalance.others_ns(), kNextToNothing * step});
  finding.gain = gain_around(step / after, kLoadImbalanceRule.calibration,
                             spread > lost / 2 ? "the late rank's excess spread over all ranks"
                                               : "without the late rank's excess, which is no work of the others");
  return {finding};
}

}  // namespace

constinit const Rule kLoadImbalanceRule = {
    "load_imbalance", "load_imbalance",        "Does one rank make the others wait?", Need::several_ranks, apply,
    nullptr,          {.small = kSmallOfRanks}};

}  // namespace warpmark::analyze
