// Gradients are exchanged once an optimizer step, where the program accumulates over several backwards.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

/// Backwards of a step, where all of the window have as many; else 0.
std::int64_t backwards_of(const workers::ProgramReport& report) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < report.steps.size(); ++i) {
    if (count != 0 && report.steps[i].backwards != count) return 0;
    count = report.steps[i].backwards;
  }
  return count;
}

Offer offer_ddp_no_sync(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");
  const auto count = backwards_of(facts.report);
  if (count < 2) return no_offer("the program does not accumulate equally many gradients in each step");
  const double once = static_cast<double>(count);
  return one_offer("on", gain_of_share(facts.phases.backward, 1.0, std::min(once, 3.0), "backward with the exchange"));
}

OptimizationAdvice ddp_no_sync_source([[maybe_unused]] const ProgramFacts& facts,
                                      [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Exchange gradients with the last backward of a step only.",
          .code = "with model.no_sync():  # around all but the last forward and backward of a step",
          .predicted = {}};
}

}  // namespace

extern const Knob ddp_no_sync_knob{
    .id = "ddp.no_sync",
    .title = "one exchange a step",
    .answers = "multi_gpu_comm",
    .breaks = "gradients are wrong where a step ends earlier than those before; then they are exchanged by hand",
    .undo = "leave no_sync() out",
    .numerics = Numerics::rounding,
    .risk = 1.5,
    .variable = "",
    .offer = offer_ddp_no_sync,
    .source = ddp_no_sync_source,
};

}  // namespace warpmark::optimize
