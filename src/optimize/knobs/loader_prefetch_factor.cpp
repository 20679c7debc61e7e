// Batches that each worker holds ready.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_loader_prefetch_factor(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.loaders.empty()) return no_offer("the program makes no DataLoader");
  if (facts.report.loaders.front().workers == 0) return no_offer("the loader has no workers");
  if (facts.phases.data < 0.05) return no_offer("steps hardly wait for data");
  return one_offer("8", {.low = 1.0, .high = 1 + facts.phases.data / 2, .method = "evens out slow samples"});
}

OptimizationAdvice loader_prefetch_factor_source([[maybe_unused]] const ProgramFacts& facts,
                                                 [[maybe_unused]] std::string_view value) {
  return {.where = loader_place(facts),
          .text = "Let workers hold more batches ready.",
          .code = fmt::format("DataLoader(..., prefetch_factor={})", value),
          .predicted = {}};
}

}  // namespace

extern const Knob loader_prefetch_factor_knob{
    .id = "loader.prefetch_factor",
    .title = "batches held ready",
    .answers = "data_loading",
    .breaks = "memory for the batches",
    .undo = "leave prefetch_factor=2",
    .numerics = Numerics::exact,
    .values = kWholeNumber,
    .risk = 1,
    .variable = "",
    .switchable = true,
    .offer = offer_loader_prefetch_factor,
    .source = loader_prefetch_factor_source,
};

}  // namespace warpmark::optimize
