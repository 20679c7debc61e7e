// Kernels that only move data: chains of elementwise kernels, each reading and writing everything once more, gathers,
// conversions between layouts, tensors copied whole to append to them, and rows that hold one number.
#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kOwnPassesAtMost = 0.35;

constexpr Advice kGrowInPlace = {
    .kind = AdviceKind::code,
    .text = "Write new rows into a tensor that is long enough from the start: torch.cat copies all that was there.",
    .pytorch = "cache[:, :, position] = k  # for language models: generate(..., cache_implementation='static')",
};
constexpr Advice kIndexRows = {
    .kind = AdviceKind::code,
    .text = "Pick or add rows by their number: a one-hot row is written and read whole for the one number it holds.",
    .pytorch =
        "rows = table[number]  # for one_hot(number) @ table\n"
        "sums = torch.zeros(classes, x.shape[1], device=x.device).index_add_(0, number, x)  # for one_hot(number).T @ "
        "x\n"
        "loss = F.cross_entropy(scores, number, label_smoothing=0.1)  # takes numbers, too",
};
constexpr Advice kFuseChains = {
    .kind = AdviceKind::code,
    .text = "Let a compiler fuse elementwise chains into single passes over memory.",
    .pytorch = "model = torch.compile(model)",
    .jax = "step = jax.jit(step)",
};
// "CUBLASLT_MATMUL_DESC_EPILOGUE" of the cuBLASLt API.
constexpr Advice kFuseChainsByHand = {
    .kind = AdviceKind::code,
    .text =
        "Fuse elementwise chains into single passes over memory: one kernel for a chain, or the epilogue of the matrix "
        "product before it.",
    .native =
        "cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;\n"
        "cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);",
    .cupy =
        "@cupy.fuse()  # or cupy.ElementwiseKernel with the expression in CUDA C++\n"
        "def scale(x, mean, deviation): return (x - mean) / deviation",
};
constexpr Advice kFuseOwnKernels = {
    .kind = AdviceKind::code,
    .text =
        "Do in one kernel what several do to the same elements: what is between stays in registers. What one needs of "
        "neighbours it computes again, or shares within its block.",
    .native = "out[i] = gamma_curve(contrast(exposure(in[i])));  // one kernel: every element is read and written once",
};
constexpr Advice kKeepLayout = {
    .kind = AdviceKind::code,
    .text = "Keep one layout throughout, so that nothing has to be converted.",
    .native = "cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, n, c, h, w);",
    .pytorch = "model = model.to(memory_format=torch.channels_last)",
    .jax = "y = jax.lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
};
constexpr Advice kFuseGathers = {
    .kind = AdviceKind::code,
    .text = "Fuse each gather with what reads its rows, so that they are not written in between.",
    .native =
        "sum += table[static_cast<std::size_t>(index[i]) * width + column];  // in the kernel that adds up the rows",
    .pytorch = "model = torch.compile(model)  # for embeddings that are added up: torch.nn.EmbeddingBag",
    .jax = "step = jax.jit(step)",
};
constexpr Advice kGatherInOrder = {
    .kind = AdviceKind::code,
    .text = "Gather once, in the order in memory (sort the indices), and in 16 bits.",
    .native =
        "cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, index, sorted_index, position, sorted_position, "
        "count);",
    .pytorch = "index, order = torch.sort(index)",
    .jax = "index = jnp.sort(index)",
};

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
  const auto& [appending, one_hot, by_fusing, own] = evidence.attribution.movement;
  const double lost = evidence.attribution.lost_ns(Claimant::memory_bandwidth);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const KernelBlame& blame = rank.blame;
  Finding finding =
      make_finding(kMemoryBandwidthRule, lost, step,
                   "Kernels that only move data take " + time_text(rank.owned_ns(Owner::memory_bandwidth)) +
                       " a step, about " + time_text(lost) + " (" + format_percent(lost / step) + ") of it avoidable");
  finding.evidence = {
      time_fact("data_movement_per_step",
                "Elementwise chains, gathers, layout conversions, appending and one-hot rows, per step",
                rank.owned_ns(Owner::memory_bandwidth)),
  };
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
