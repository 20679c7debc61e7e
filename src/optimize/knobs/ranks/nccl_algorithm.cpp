// How NCCL reduces: rings move the fewest bytes, trees have the shortest way.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_nccl_algorithm(const ProgramFacts& facts, const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  Offer offer;
  for (const char* value : {"Ring", "Tree"}) {
    if (value_of(settings, "nccl.algorithm") == value) continue;
    offer.candidates.push_back({value, gain_of_share(facts.phases.backward, 0.9, 1.1, "backward with the exchange")});
  }
  return offer;
}

OptimizationAdvice nccl_algorithm_source([[maybe_unused]] const ProgramFacts& facts,
                                         [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Fix the algorithm of NCCL.",
          .code = fmt::format("NCCL_ALGO={}", value),
          .predicted = {}};
}

}  // namespace

extern const Knob nccl_algorithm_knob{
    .id = "nccl.algorithm",
    .title = "algorithm of NCCL",
    .answers = "multi_gpu_comm",
    .breaks = "sizes for which NCCL had chosen better; sums in another order",
    .undo = "unset NCCL_ALGO",
    .numerics = Numerics::rounding,
    .risk = 1.5,
    .variable = "NCCL_ALGO",
    .offer = offer_nccl_algorithm,
    .source = nccl_algorithm_source,
};

}  // namespace warpmark::optimize
