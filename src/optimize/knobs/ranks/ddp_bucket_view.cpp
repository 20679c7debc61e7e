// Gradients are views of the buckets: one copy less.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_ddp_bucket_view(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  return one_offer("on", {.low = 1.0, .high = 1.05, .method = "one copy of the gradients less"});
}

OptimizationAdvice ddp_bucket_view_source([[maybe_unused]] const ProgramFacts& facts,
                                          [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Keep gradients in the buckets.",
          .code = "DistributedDataParallel(..., gradient_as_bucket_view=True)",
          .predicted = {}};
}

}  // namespace

extern const Knob ddp_bucket_view_knob{
    .id = "ddp.gradient_as_bucket_view",
    .title = "gradients as views of buckets",
    .answers = "multi_gpu_comm memory_allocation",
    .breaks = "code that detaches gradients",
    .undo = "leave gradient_as_bucket_view=False",
    .numerics = Numerics::exact,
    .risk = 1,
    .variable = "",
    .offer = offer_ddp_bucket_view,
    .source = ddp_bucket_view_source,
};

}  // namespace warpmark::optimize
