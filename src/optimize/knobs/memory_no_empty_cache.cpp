// torch.cuda.empty_cache in the loop returns memory that the next step asks for again.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_memory_no_empty_cache(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.emptied == 0) return no_offer("the program does not call empty_cache in its loop");
  return one_offer("on", {.low = 1.02, .high = 1.5, .method = "no memory is returned and asked for again"});
}

OptimizationAdvice memory_no_empty_cache_source([[maybe_unused]] const ProgramFacts& facts,
                                                [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Do not empty the cache in the loop.",
          .code = "# remove torch.cuda.empty_cache()",
          .predicted = {}};
}

}  // namespace

extern const Knob memory_no_empty_cache_knob{
    .id = "memory.no_empty_cache",
    .title = "no empty_cache in the loop",
    .answers = "memory_allocation",
    .breaks = "memory that another process waits for",
    .undo = "leave empty_cache as it was",
    .numerics = Numerics::exact,
    .values = "on",
    .risk = 1,
    .variable = "",
    .switchable = true,
    .bundled = true,
    .offer = offer_memory_no_empty_cache,
    .source = memory_no_empty_cache_source,
};

}  // namespace warpmark::optimize
