// What lives at the first step is taken out of the reach of Python's collector.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_python_gc(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.steps.empty()) return no_offer("no step was found");
  if (facts.seconds_per_step > 0.05) return no_offer("steps are long against a collection");
  return one_offer("on", {.low = 1.0, .high = 1.02, .method = "fewer objects to look through"});
}

OptimizationAdvice python_gc_source([[maybe_unused]] const ProgramFacts& facts,
                                    [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Freeze what lives after the first steps.",
          .code = "gc.collect(); gc.freeze()",
          .predicted = {}};
}

}  // namespace

extern const Knob python_gc_knob{
    .id = "python.gc_freeze",
    .title = "collector leaves old objects alone",
    .answers = "",  // of launches that are late, a collection is the smallest part
    .breaks = "cycles among old objects are never freed",
    .undo = "leave gc.freeze() out",
    .numerics = Numerics::exact,
    .values = "on",
    .risk = 1,
    .variable = "",
    .switchable = true,
    .offer = offer_python_gc,
    .source = python_gc_source,
};

}  // namespace warpmark::optimize
