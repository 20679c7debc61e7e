// Gradients are exchanged in bf16.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_ddp_bf16(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  if (facts.report.gpus.empty() || facts.report.gpus.front().major < 8) return no_offer("the GPU has no bf16");
  return one_offer("on", {.low = 1.0, .high = 1.3, .method = "half of the bytes between the GPUs"});
}

OptimizationAdvice ddp_bf16_source([[maybe_unused]] const ProgramFacts& facts,
                                   [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Send gradients as bf16.",
          .code = "model.register_comm_hook(None, default_hooks.bf16_compress_hook)",
          .predicted = {}};
}

}  // namespace

extern const Knob ddp_bf16_knob{
    .id = "ddp.bf16_gradients",
    .title = "gradients sent as bf16",
    .answers = "multi_gpu_comm",
    .breaks = "8 bits of mantissa in the sum of gradients",
    .undo = "leave the hook out",
    .numerics = Numerics::precision,
    .risk = 1.5,
    .variable = "",
    .offer = offer_ddp_bf16,
    .source = ddp_bf16_source,
};

}  // namespace warpmark::optimize
