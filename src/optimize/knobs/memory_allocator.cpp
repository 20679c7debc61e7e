// Segments of GPU memory that grow, so that changing sizes leave no holes.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_memory_allocator(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (!torch_at_least(facts, 2, 1)) return no_offer("torch " + facts.report.torch + " has no expandable segments");
  const auto& report = facts.report;
  const bool holes = report.reserved_bytes > report.allocated_bytes + report.allocated_bytes / 4;
  if (!holes) return no_offer("hardly any of the reserved memory is unused");
  return one_offer("expandable_segments:True", {.low = 1.0, .high = 1.1, .method = "fewer new segments; less memory"});
}

OptimizationAdvice memory_allocator_source([[maybe_unused]] const ProgramFacts& facts,
                                           [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Let segments of GPU memory grow.",
          .code = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
          .predicted = {}};
}

}  // namespace

extern const Knob memory_allocator_knob{
    .id = "memory.allocator",
    .title = "expandable segments",
    .answers = "memory_allocation",
    .breaks = "memory shared between processes",
    .undo = "unset the variable",
    .numerics = Numerics::exact,
    .risk = 1.1,
    .variable = "PYTORCH_CUDA_ALLOC_CONF",
    .joined = ',',
    .offer = offer_memory_allocator,
    .source = memory_allocator_source,
};

}  // namespace warpmark::optimize
