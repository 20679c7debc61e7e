// Kernels that only move data: chains of elementwise kernels, each reading and writing everything once more, gathers,
// conversions between layouts, tensors copied whole to append to them, and rows that hold one number.
#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

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
void add_kinds(const KernelAttribution& attribution, Finding& finding) {
  const auto chains = static_cast<double>(attribution.chains);
  if (attribution.chains > 0) {
    finding.evidence.push_back(
        count_fact("elementwise_chains", "Chains of elementwise kernels in the recording", chains));
    finding.evidence.push_back(count_fact("chain_length", "Kernels in a chain, mean",
                                          static_cast<double>(attribution.chain_kernels) / chains));
  }
  if (attribution.gathers > 0) {
    finding.evidence.push_back(
        count_fact("gathers", "Gather and scatter kernels in the recording", static_cast<double>(attribution.gathers)));
  }
  if (attribution.layout_conversions > 0) {
    finding.evidence.push_back(count_fact("layout_conversions", "Layout conversions in the recording",
                                          static_cast<double>(attribution.layout_conversions)));
  }
}

std::vector<Finding> apply_memory_bandwidth(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = evidence.attribution.lost_ns(AttributedTo::memory_bandwidth);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const KernelAttribution& attribution = rank.attribution;
  Finding finding = make_finding(
      kMemoryBandwidthRule, lost, step,
      "Kernels that only move data take " + time_text(rank.owned_ns(Owner::memory_bandwidth)) +
          " per step, of which fusing can save " + time_text(lost) + " (" + format_percent(lost / step) + ")");
  finding.evidence = {time_fact("data_movement_per_step",
                                "Elementwise chains, gathers and layout conversions, per step",
                                rank.owned_ns(Owner::memory_bandwidth))};
  add_kinds(attribution, finding);
  if (attribution.chains > 0)
    advise(evidence, {evidence.compiled ? kFixGraphBreaks : kFuseChains, kFuseChainsByHand}, finding);
  if (attribution.layout_conversions > 0) advise(evidence, {kKeepLayout}, finding);
  if (attribution.gathers > 0) advise(evidence, {kFuseGathers, kGatherInOrder}, finding);
  show_works(
      rank, [&rank](std::size_t i) { return rank.attribution.owner[i] == Owner::memory_bandwidth; }, finding);
  return {finding};
}

void change_memory_bandwidth(const Evidence& evidence, double success, Change& change) {
  shrink_owned(evidence, Owner::memory_bandwidth, success, change);
}

}  // namespace

constinit const Rule kMemoryBandwidthRule = {
    "memory_bandwidth", "memory_bandwidth",     "Do kernels move data redundantly?",
    Need::gpu_work,     apply_memory_bandwidth, change_memory_bandwidth};

}  // namespace warpmark::analyze
