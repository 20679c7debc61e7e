// The fused ways of scaled_dot_product_attention, where the program switched some off: a search for a NaN, or for the
// same bits in each run, often leaves them so (torch.backends.cuda.enable_flash_sdp and its sisters, or
// torch.nn.attention.sdpa_kernel around each attention).
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_attention_backend(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.attention_off.empty()) return no_offer("no fused attention is switched off");
  return one_offer("all", gain_of_share(model_share(facts), 1.0, 2, "the model"));
}

OptimizationAdvice attention_backend_source([[maybe_unused]] const ProgramFacts& facts,
                                            [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Leave PyTorch all its ways of attention.",
          .code = "# remove torch.backends.cuda.enable_flash_sdp(False), sdpa_kernel(SDPBackend.MATH), ...",
          .predicted = {}};
}

}  // namespace

extern const Knob attention_backend_knob{
    .id = "attention.backend",
    .title = "all ways of attention",
    .answers = "attention",
    .breaks = "the same bits in each run, where that is why they were switched off",
    .undo = "switch them off again",
    .numerics = Numerics::rounding,
    .values = "all|math|flash|efficient|cudnn",
    .risk = 1,
    .variable = "",
    .kernels = "all=sdpa all=flash all=fmha flash=flash efficient=fmha cudnn=cudnn_generated",
    .switchable = true,
    .bundled = true,
    .offer = offer_attention_backend,
    .source = attention_backend_source,
};

}  // namespace warpmark::optimize
