// Fused attention in models of transformers that were made with the eager one.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_attention_sdpa(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  bool any = false;
  for (const auto& module : facts.report.modules) any = any || module.attentions > 0;
  if (!any) return no_offer("no attention module was found");
  return one_offer("on", gain_of_share(model_share(facts), 1.0, 2, "the model"));
}

OptimizationAdvice attention_sdpa_source([[maybe_unused]] const ProgramFacts& facts,
                                         [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Use fused attention.",
          .code = "Model.from_pretrained(..., attn_implementation=\"sdpa\")",
          .predicted = {}};
}

}  // namespace

extern const Knob attention_sdpa_knob{
    .id = "attention.sdpa",
    .title = "fused attention",
    .answers = "attention memory_bandwidth",
    .breaks = "attention weights cannot be returned",
    .undo = "leave attn_implementation as it was",
    .numerics = Numerics::rounding,
    .values = "on",
    .risk = 1.1,
    .variable = "",
    .kernels = "sdpa flash fmha",
    .switchable = true,
    .bundled = true,
    .offer = offer_attention_sdpa,
    .source = attention_sdpa_source,
};

}  // namespace warpmark::optimize
