// Attention that writes its score matrix: softmax(QK^T)V as separate kernels with masks, scalings and casts between
// them.
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

// Native: the graph API of cuDNN's frontend ("Scaled Dot Product Attention" of its developer guide).
constexpr Advice kFuseAttention = {
    .kind = AdviceKind::code,
    .text = "Use a fused attention: it never writes the scores.",
    .native =
        "auto [y, statistics] = graph->sdpa(q, k, v, "
        "cudnn_frontend::graph::SDPA_attributes().set_name(\"attention\"));",
    .pytorch = "y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # False in an encoder",
    .jax = "y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation='cudnn')  # False in an encoder",
};
constexpr Advice kCheckFusedAttention = {
    .kind = AdviceKind::code,
    .text = "Make sure that a fused backend is taken: 16-bit inputs, a head size it supports, no custom mask.",
    .pytorch = "with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION): y = model(x)",
};

// What cuDNN's and JAX's attention does anyway.
std::vector<Finding> apply_attention(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = evidence.attribution.lost_ns(AttributedTo::attention);
  const double step = rank.undisturbed_step_ns();
  // Between two products there may also be a loss: what the order alone tells is worth a word where it matters.
  if (lost <= kMatters * step) return {};
  double kernels = 0, products = 0;
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const bool owned = rank.attribution.owner[i] == Owner::attention && rank.in_steps(rank.list.works[i]);
    kernels += owned;
    products += owned && rank.list.works[i].category == Category::gemm;
  }
  Finding finding = make_finding(kAttentionRule, lost, step,
                                 "Unfused attention spends " + time_text(lost) + " per step (" +
                                     format_percent(lost / step) + ") on its score matrices");
  finding.evidence = {
      time_fact("score_kernels_per_step",
                products > 0 ? "Products, softmax, mask, scale and cast kernels on attention scores, per step"
                             : "Softmax, mask, scale and cast kernels on attention scores, per step",
                lost),
      count_fact("score_kernel_count_per_step", "Such kernels per step", kernels / rank.step_count()),
  };
  advise(evidence, {kFuseAttention, kCheckFusedAttention}, finding);
  show_works(
      rank, [&rank](std::size_t i) { return rank.attribution.owner[i] == Owner::attention; }, finding);
  return {finding};
}

void change_attention(const Evidence& evidence, double success, Change& change) {
  shrink_owned(evidence, Owner::attention, success, change);
}

}  // namespace

constinit const Rule kAttentionRule = {"attention",    "memory_bandwidth", "Is attention unfused?",
                                       Need::gpu_work, apply_attention,    change_attention};

}  // namespace warpmark::analyze
