// CUDA_LAUNCH_BLOCKING, which helps to find the kernel that fails (CUDA C++ Programming Guide, environment variables),
// makes the host wait for each kernel.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_launch_blocking(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!debugs_with(facts, "debug.launch_blocking")) return no_offer("launches do not wait for their kernels");
  return one_offer("off", {.low = 1.1, .high = 4, .method = "the host launches ahead of the GPU"});
}

OptimizationAdvice launch_blocking_source([[maybe_unused]] const ProgramFacts& facts,
                                          [[maybe_unused]] std::string_view value) {
  return {
      .where = std::string(), .text = "Let launches run ahead.", .code = "unset CUDA_LAUNCH_BLOCKING", .predicted = {}};
}

}  // namespace

extern const Knob launch_blocking_knob{
    .id = "debug.launch_blocking",
    .title = "launches that do not wait",
    .answers = "launch_overhead cpu_gpu_sync",
    .breaks = "kernel errors are reported at a later line",
    .undo = "set CUDA_LAUNCH_BLOCKING=1 again",
    .numerics = Numerics::exact,
    .values = "off",
    .risk = 1,
    .variable = "",
    .bundled = true,
    .offer = offer_launch_blocking,
    .source = launch_blocking_source,
};

}  // namespace warpmark::optimize
