// Settings of the allocator of GPU memory.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// PYTORCH_NO_CUDA_MEMORY_CACHING, which helps to debug memory (PyTorch's "Using environment variables to control CUDA
// allocator"), makes every tensor ask the driver.
Offer offer_memory_caching(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.report.uncached) return no_offer("PyTorch keeps GPU memory already");
  return one_offer("on", {.low = 1.2, .high = 10, .method = "no tensor asks the driver for memory"});
}

// Segments of GPU memory that grow, so that changing sizes leave no holes.
Offer offer_memory_allocator(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (!torch_at_least(facts, 2, 1)) return no_offer("torch " + facts.report.torch + " has no expandable segments");
  const auto& report = facts.report;
  const bool holes = report.reserved_bytes > report.allocated_bytes + report.allocated_bytes / 4;
  if (!holes) return no_offer("hardly any of the reserved memory is unused");
  return one_offer("expandable_segments:True", {.low = 1.0, .high = 1.1, .method = "fewer new segments; less memory"});
}

// torch.cuda.empty_cache in the loop returns memory that the next step asks for again.
Offer offer_memory_no_empty_cache(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.emptied == 0) return no_offer("the program does not call empty_cache in its loop");
  return one_offer("on", {.low = 1.02, .high = 1.5, .method = "no memory is returned and asked for again"});
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
    .bundled = true,
    .offer = offer_memory_caching,
    .text = "Leave the caching allocator on.",
    .code = "unset PYTORCH_NO_CUDA_MEMORY_CACHING",
};

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
    .text = "Let segments of GPU memory grow.",
    .code = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
};

extern const Knob memory_no_empty_cache_knob{
    .id = "memory.no_empty_cache",
    .title = "no empty_cache in the loop",
    .answers = "memory_allocation",
    .breaks = "memory that another process waits for",
    .undo = "leave empty_cache as it was",
    .numerics = Numerics::exact,
    .values = "on",
    .switchable = true,
    .bundled = true,
    .offer = offer_memory_no_empty_cache,
    .text = "Do not empty the cache in the loop.",
    .code = "# remove torch.cuda.empty_cache()",
};

}  // namespace warpmark::optimize
