// Activations of repeated blocks are computed again in the backward: memory for time, for room for a larger batch.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_checkpoint_blocks(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.trains()) return no_offer("the program does not train");
  if (facts.report.total_bytes == 0) return no_offer("the GPU's memory is not known");
  const double used = static_cast<double>(facts.report.reserved_bytes) / static_cast<double>(facts.report.total_bytes);
  if (used < 0.85) return no_offer("there is memory left: it only costs time");
  return one_offer("on", {.low = 0.75, .high = 1.0, .method = "40 to 60 % less memory for 20 to 30 % more time"});
}

OptimizationAdvice checkpoint_blocks_source([[maybe_unused]] const ProgramFacts& facts,
                                            [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Compute activations again in the backward.",
          .code = "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
          .predicted = {}};
}

}  // namespace

extern const Knob checkpoint_blocks_knob{
    .id = "checkpoint.blocks",
    .title = "activations computed again",
    .answers = "memory_allocation",
    .breaks = "20 to 30 % more time",
    .undo = "leave checkpointing out",
    .numerics = Numerics::exact,
    .values = "on",
    .risk = 3,
    .variable = "",
    .offer = offer_checkpoint_blocks,
    .source = checkpoint_blocks_source,
};

}  // namespace warpmark::optimize
