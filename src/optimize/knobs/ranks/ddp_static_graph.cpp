// The graph is said to be the same in each step, so that unused parameters are not looked for.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_ddp_static_graph(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  return one_offer("on", {.low = 1.0, .high = 1.05, .method = "no search for unused parameters"});
}

OptimizationAdvice ddp_static_graph_source([[maybe_unused]] const ProgramFacts& facts,
                                           [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Say that the graph does not change.",
          .code = "DistributedDataParallel(..., static_graph=True)",
          .predicted = {}};
}

}  // namespace

extern const Knob ddp_static_graph_knob{
    .id = "ddp.static_graph",
    .title = "static graph",
    .answers = "multi_gpu_comm",
    .breaks = "gradients are wrong where the graph changes",
    .undo = "leave static_graph=False",
    .numerics = Numerics::rounding,
    .risk = 2,
    .variable = "",
    .offer = offer_ddp_static_graph,
    .source = ddp_static_graph_source,
};

}  // namespace warpmark::optimize
