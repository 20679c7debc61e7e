// Workers that live through all epochs.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_loader_persistent_workers(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.loaders.empty()) return no_offer("the program makes no DataLoader");
  if (facts.report.loaders.front().persistent) return no_offer("the program does so");
  if (facts.report.loaders.front().workers == 0) return no_offer("the loader has no workers");
  return one_offer("on", {.low = 1.0, .high = 1.1, .method = "workers start once and not each epoch"});
}

JourneyAdvice loader_persistent_workers_source([[maybe_unused]] const ProgramFacts& facts,
                                               [[maybe_unused]] std::string_view value) {
  return {.where = loader_place(facts),
          .text = "Keep the workers between epochs.",
          .code = "DataLoader(..., persistent_workers=True)",
          .predicted = {}};
}

}  // namespace

extern const Knob loader_persistent_workers_knob{
    .id = "loader.persistent_workers",
    .title = "workers kept between epochs",
    .answers = "data_loading",
    .breaks = "datasets whose state changes between epochs are not read anew",
    .undo = "leave persistent_workers=False",
    .numerics = Numerics::exact,
    .values = "on",
    .risk = 1,
    .variable = "",
    .offer = offer_loader_persistent_workers,
    .source = loader_persistent_workers_source,
};

}  // namespace warpmark::optimize
