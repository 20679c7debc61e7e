// Gradients are dropped instead of being filled with zeros.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_optimizer_set_to_none(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.optimizers.empty()) return no_offer("the program makes no optimizer of torch.optim");
  if (torch_at_least(facts, 2, 0)) return no_offer("this torch does it by itself");
  return one_offer("on", {.low = 1.0, .high = 1.05, .method = "saves a pass over the gradients"});
}

OptimizationAdvice optimizer_set_to_none_source([[maybe_unused]] const ProgramFacts& facts,
                                                [[maybe_unused]] std::string_view value) {
  return {.where = optimizer_place(facts),
          .text = "Drop gradients instead of zeroing them.",
          .code = "optimizer.zero_grad(set_to_none=True)",
          .predicted = {}};
}

}  // namespace

extern const Knob optimizer_set_to_none_knob{
    .id = "optimizer.set_to_none",
    .title = "gradients dropped, not zeroed",
    .answers = "optimizer",
    .breaks = "code that reads .grad between zero_grad and backward",
    .undo = "leave set_to_none=False",
    .numerics = Numerics::exact,
    .values = "on",
    .risk = 1,
    .variable = "",
    .switchable = true,
    .bundled = true,
    .offer = offer_optimizer_set_to_none,
    .source = optimizer_set_to_none_source,
};

}  // namespace warpmark::optimize
