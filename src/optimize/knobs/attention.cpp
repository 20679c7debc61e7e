// Settings of attention.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// The fused ways of scaled_dot_product_attention, where the program switched some off: a search for a NaN, or for the
// same bits in each run, often leaves them so (torch.backends.cuda.enable_flash_sdp and its sisters, or
// torch.nn.attention.sdpa_kernel around each attention).
Offer offer_attention_backend(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.attention_off.empty()) return no_offer("no fused attention is switched off");
  return one_offer("all", gain_of_share(model_share(facts), 1.0, 2, "the model"));
}

// Fused attention in models of transformers that were made with the eager one.
Offer offer_attention_sdpa(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  bool any = false;
  for (const auto& module : facts.report.modules) any = any || module.attentions > 0;
  if (!any) return no_offer("no attention module was found");
  return one_offer("on", gain_of_share(model_share(facts), 1.0, 2, "the model"));
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
    .kernels = "all=sdpa all=flash all=fmha flash=flash efficient=fmha cudnn=cudnn_generated",
    .switchable = true,
    .bundled = true,
    .offer = offer_attention_backend,
    .place = Place::module,
    .text = "Leave PyTorch all its ways of attention.",
    .code = "# remove torch.backends.cuda.enable_flash_sdp(False), sdpa_kernel(SDPBackend.MATH), ...",
};

extern const Knob attention_sdpa_knob{
    .id = "attention.sdpa",
    .title = "fused attention",
    .answers = "attention memory_bandwidth",
    .breaks = "attention weights cannot be returned",
    .undo = "leave attn_implementation as it was",
    .numerics = Numerics::rounding,
    .values = "on",
    .risk = 1.1,
    .kernels = "sdpa flash fmha",
    .switchable = true,
    .bundled = true,
    .offer = offer_attention_sdpa,
    .place = Place::module,
    .text = "Use fused attention.",
    .code = "Model.from_pretrained(..., attn_implementation=\"sdpa\")",
};

}  // namespace warpmark::optimize
