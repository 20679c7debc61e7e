// PYTORCH_NO_CUDA_MEMORY_CACHING, which helps to debug memory (PyTorch's "Using environment variables to control CUDA
// allocator"), makes every tensor ask the driver.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_memory_caching(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.report.uncached) return no_offer("PyTorch keeps GPU memory already");
  return one_offer("on", {.low = 1.2, .high = 10, .method = "no tensor asks the driver for memory"});
}

OptimizationAdvice memory_caching_source([[maybe_unused]] const ProgramFacts& facts,
                                         [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Leave the caching allocator on.",
          .code = "unset PYTORCH_NO_CUDA_MEMORY_CACHING",
          .predicted = {}};
}

}  // namespace

extern const Knob memory_caching_knob{
    .id = "memory.caching",
    .title = "caching allocator",
    .answers = "memory_allocation",
    .breaks = "tools that look at every allocation, as compute-sanitizer",
    .undo = "set PYTORCH_NO_CUDA_MEMORY_CACHING again",
    .numerics = Numerics::exact,
    .values = "on",
    .risk = 1,
    .variable = "",
    .bundled = true,
    .offer = offer_memory_caching,
    .source = memory_caching_source,
};

}  // namespace warpmark::optimize
