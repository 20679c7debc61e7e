// Kernels that only move data: chains of elementwise kernels, each reading and writing everything once more, gathers,
// conversions between layouts, tensors copied whole to append to them, and rows that hold one number.
#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

/// Of what fusing could save, what is blamed: passes over memory are part of every program, and how far a compiler gets
/// is not known beforehand, where a wait or a copy was recorded as it is. The gain has an interval for that.
constexpr double kSurelyReached = 0.5;
constexpr double kOwnPassesAtMost = 0.35;

constexpr Advice kGrowInPlace = {
    AdviceKind::code,
    "Write new rows into a tensor that is long enough from the start: torch.cat copies all that was there.",
    nullptr,
    "cache[:, :, position] = k  # for language models: generate(..., cache_implementation='static')",
    nullptr,
};
constexpr Advice kIndexRows = {
    AdviceKind::code,
    "Pick or add rows by their number: a one-hot row is written and read whole for the one number it holds.",
    nullptr,
    "rows = table[number]  # for one_hot(number) @ table\n"
    "sums = torch.zeros(classes, x.shape[1], device=x.device).index_add_(0, number, x)  # for one_hot(number).T @ x\n"
    "loss = F.cross_entropy(scores, number, label_smoothing=0.1)  # takes numbers, too",
};
constexpr Advice kFuseChains = {
    AdviceKind::code,
    "Let a compiler fuse elementwise chains into single passes over memory.",
    nullptr,
    "model = torch.compile(model)",
    "step = jax.jit(step)",
};
// "CUBLASLT_MATMUL_DESC_EPILOGUE" of the cuBLASLt API.
constexpr Advice kFuseChainsByHand = {
    AdviceKind::code,
    "Fuse elementwise chains into single passes over memory: one kernel for a chain, or the epilogue of the matrix "
    "product before it.",
    "cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;\n"
    "cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);",
    nullptr,
    nullptr,
    "@cupy.fuse()  # or cupy.ElementwiseKernel with the expression in CUDA C++\n"
    "def scale(x, mean, deviation): return (x - mean) / deviation",
};
constexpr Advice kFuseOwnKernels = {
    AdviceKind::code,
    "Do in one kernel what several do to the same elements: what is between stays in registers. What one needs of "
    "neighbours it computes again, or shares within its block.",
    "out[i] = gamma_curve(contrast(exposure(in[i])));  // one kernel: every element is read and written once",
};
constexpr Advice kKeepLayout = {
    AdviceKind::code,
    "Keep one layout throughout, so that nothing has to be converted.",
    "cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, n, c, h, w);",
    "model = model.to(memory_format=torch.channels_last)",
    "y = jax.lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
};
constexpr Advice kFuseGathers = {
    AdviceKind::code,
    "Fuse each gather with what reads its rows, so that they are not written in between.",
    "sum += table[static_cast<std::size_t>(index[i]) * width + column];  // in the kernel that adds up the rows",
    "model = torch.compile(model)  # for embeddings that are added up: torch.nn.EmbeddingBag",
    "step = jax.jit(step)",
};
constexpr Advice kGatherInOrder = {
    AdviceKind::code,
    "Gather once, in the order in memory (sort the indices), and in 16 bits.",
    "cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, index, sorted_index, position, sorted_position, count);",
    "index, order = torch.sort(index)",
    "index = jnp.sort(index)",
};

/// Time a step of these works that need not be at all.
double needless_ns(const RankEvidence& rank, std::span<const std::size_t> works) {
  double sum = 0;
  for (const std::size_t i : works) {
    const GpuWork& work = rank.list.works[i];
    if (rank.in_steps(work)) sum += static_cast<double>(work.end - work.start) * (1 - rank.blame.keep[i]);
  }
  return sum / rank.step_count();
}

/// Avoidable time of kernels of the program's own, a step. Whether one needs what another thread of the one before it
/// wrote, as in a stencil, is not recorded: a note.
double own_passes_ns(const RankEvidence& rank) {
  double sum = 0;
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (rank.blame.owner[i] != Owner::memory_bandwidth || work.category != Category::other) continue;
    if (rank.in_steps(work)) sum += static_cast<double>(work.end - work.start) * (1 - rank.blame.keep[i]);
  }
  return sum / rank.step_count();
}

/// What there is none of is no evidence.
void add_kinds(const KernelBlame& blame, Finding& finding) {
  const auto chains = static_cast<double>(blame.chains);
  if (blame.chains > 0) {
    finding.evidence.push_back(
        count_fact("elementwise_chains", "Chains of elementwise kernels in the recording", chains));
    finding.evidence.push_back(
        count_fact("chain_length", "Kernels in a chain, mean", static_cast<double>(blame.chain_kernels) / chains));
  }
  if (blame.gathers > 0) {
    finding.evidence.push_back(
        count_fact("gathers", "Gather and scatter kernels in the recording", static_cast<double>(blame.gathers)));
  }
  if (blame.layout_conversions > 0) {
    finding.evidence.push_back(count_fact("layout_conversions", "Layout conversions in the recording",
                                          static_cast<double>(blame.layout_conversions)));
  }
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double appending = needless_ns(rank, rank.blame.appends);
  const double one_hot = needless_ns(rank, rank.blame.one_hots);
  const double needless = appending + one_hot;  // nothing of it takes a compiler
  const double by_fusing = std::max(0.0, avoidable_ns(rank, Owner::memory_bandwidth) - needless) * kSurelyReached;
  const double lost = by_fusing + needless;
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const KernelBlame& blame = rank.blame;
  Finding finding =
      make_finding(kMemoryBandwidthRule, lost, step,
                   "Kernels that only move data take " + time_text(owned_ns(rank, Owner::memory_bandwidth)) +
                       " a step, about " + time_text(lost) + " (" + format_percent(lost / step) + ") of it avoidable");
  finding.evidence = {
      time_fact("data_movement_per_step",
                "Elementwise chains, gathers, layout conversions, appending and one-hot rows, per step",
                owned_ns(rank, Owner::memory_bandwidth)),
  };
  const double own = own_passes_ns(rank) * kSurelyReached;
  finding.severity = std::min(finding.severity, std::max(severity_of(lost - own, step), kOwnPassesAtMost));
  if (one_hot > 0) {
    finding.evidence.push_back(
        time_fact("one_hot_per_step", "Writing one-hot rows and multiplying or adding them up, per step", one_hot));
  }
  if (own > 0) {
    finding.evidence.push_back(time_fact("own_passes_avoidable_per_step",
                                         "Of it in kernels of the program's own, which pass over memory one after "
                                         "another: the bytes of their parameters take most of their time. As far as "
                                         "each element needs no others, per step",
                                         own));
  }
  if (by_fusing >= 1) {  // ns: less is the rounding of the difference
    finding.evidence.push_back(time_fact("data_movement_avoidable_per_step",
                                         "Counted as avoidable, half of what fusing could save at best, per step",
                                         by_fusing));
  }
  if (appending > 0) {
    finding.evidence.push_back(
        time_fact("appending_per_step", "Copying tensors whole to append at most a 32nd to them, per step", appending));
  }
  add_kinds(blame, finding);
  if (one_hot > by_fusing) advise(evidence, {kIndexRows}, finding);
  if (appending > by_fusing) advise(evidence, {kGrowInPlace}, finding);
  if (own > by_fusing / 2) advise(evidence, {kFuseOwnKernels}, finding);
  if (blame.chains > 0 && by_fusing >= 1)
    advise(evidence, {evidence.compiled ? kMendGraphBreaks : kFuseChains, kFuseChainsByHand}, finding);
  if (blame.layout_conversions > 0) advise(evidence, {kKeepLayout}, finding);
  if (blame.gathers > 0 && blame.chains == 0) advise(evidence, {kFuseGathers}, finding);
  if (blame.gathers > 0) advise(evidence, {kGatherInOrder}, finding);
  if (appending > 0 && appending <= by_fusing) advise(evidence, {kGrowInPlace}, finding);
  if (one_hot > 0 && one_hot <= by_fusing) advise(evidence, {kIndexRows}, finding);
  show_works(
      rank, [&rank](std::size_t i) { return rank.blame.owner[i] == Owner::memory_bandwidth; }, finding);
  return {finding};
}

void change(const Evidence& evidence, double success, Change& change) {
  shrink_owned(evidence, Owner::memory_bandwidth, success, change);
}

}  // namespace

constinit const Rule kMemoryBandwidthRule = {
    "memory_bandwidth", "memory_bandwidth", "Do kernels move data needlessly?", Need::gpu_work, apply, change,
    {1.0, 0.1}};

}  // namespace warpmark::analyze
