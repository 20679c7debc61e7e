// Size of the pieces in which gradients are exchanged.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_ddp_bucket(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  return {.candidates = {{"100", {.low = 0.97, .high = 1.1, .method = "fewer and larger messages"}},
                         {"10", {.low = 0.95, .high = 1.05, .method = "an earlier begin of the exchange"}}},
          .why_not = {}};
}

OptimizationAdvice ddp_bucket_source([[maybe_unused]] const ProgramFacts& facts,
                                     [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Exchange gradients in other pieces.",
          .code = fmt::format("DistributedDataParallel(..., bucket_cap_mb={})", value),
          .predicted = {}};
}

}  // namespace

extern const Knob ddp_bucket_knob{
    .id = "ddp.bucket_cap_mb",
    .title = "larger buckets of gradients",
    .answers = "multi_gpu_comm",
    .breaks = "less overlap with the backward",
    .undo = "leave bucket_cap_mb=25",
    .numerics = Numerics::rounding,
    .risk = 1.1,
    .variable = "",
    .offer = offer_ddp_bucket,
    .source = ddp_bucket_source,
};

}  // namespace warpmark::optimize
