// Workers that live through all epochs.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

constexpr double kStart_s = 0.1;  // of a worker that is forked from a process with a GPU: 0.02 to 0.1 s seen

Offer offer_loader_persistent_workers(const ProgramFacts& facts, const Settings& settings) {
  if (facts.report.loaders.empty()) return no_offer("the program makes no DataLoader");
  const auto& loader = facts.report.loaders.front();
  if (loader.persistent) return no_offer("the program does so");
  const auto workers = static_cast<double>(loader_workers(facts, settings));
  if (workers < 1) return no_offer("the loader has no workers");
  Prediction predicted{.low = 1.0, .high = 1.1, .method = "workers start once and not each epoch"};
  const double epoch_s = static_cast<double>(loader.batches) * facts.seconds_per_step;
  if (epoch_s > 0) predicted.high = 1 + kStart_s * workers / epoch_s;
  return one_offer("on", std::move(predicted));
}

OptimizationAdvice loader_persistent_workers_source([[maybe_unused]] const ProgramFacts& facts,
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
    .switchable = true,
    .bundled = true,
    .offer = offer_loader_persistent_workers,
    .source = loader_persistent_workers_source,
};

}  // namespace warpmark::optimize
