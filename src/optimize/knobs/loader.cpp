// Settings of the data loader.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// Worker processes of DataLoader: what they read and transform overlaps with the steps.
/// Twice as many as were measured to help where steps still wait: loaders that wait for a disk or a network do not
/// need a core each. Four for each core at most, as each takes memory.
Offer more_workers(const ProgramFacts& facts, std::int64_t now, std::int64_t cores) {
  constexpr double kStillWaits = 0.2;
  if (facts.phases.data < kStillWaits || 2 * now > std::clamp<std::int64_t>(4 * cores, 16, 64)) {
    return no_offer("it has as many as would help");
  }
  const double best = 1 / std::max(0.5, 1 - facts.phases.data);
  return one_offer(std::to_string(2 * now),
                   {.low = 1,
                    .high = best,
                    .method = fmt::format("steps wait for data {:.0f} % of their time", facts.phases.data * 100)});
}

Offer offer_loader_workers(const ProgramFacts& facts, const Settings& settings) {
  const auto& loaders = facts.report.loaders;
  if (loaders.empty()) return no_offer("the program makes no DataLoader");
  if (loaders.front().iterable) return no_offer("an IterableDataset would be read once by each worker");
  constexpr double kWorthIt = 0.02;
  if (facts.phases.data < kWorthIt) {
    return no_offer(fmt::format("steps wait for data {:.1f} % of their time", facts.phases.data * 100));
  }
  const auto per_gpu = std::max<std::int64_t>(1, facts.report.cpus / std::max<std::int64_t>(1, facts.report.world));
  if (const auto given = value_of(settings, "loader.workers"); !given.empty()) {
    return more_workers(facts, loader_workers(facts, settings), per_gpu);
  }
  const auto now = std::max<std::int64_t>(1, loaders.front().workers);
  const double compute = std::max(1 - facts.phases.data, 0.02);
  // As many as hide the loading behind the rest of the step; a loader that waits for a disk or a network keeps no core
  // busy, so up to twice the cores.
  const auto most = std::clamp<std::int64_t>(2 * per_gpu, 4, 16);
  const double load = facts.phases.data + (loaders.front().workers > 0 ? compute : 0);
  const auto needed = static_cast<std::int64_t>(static_cast<double>(now) * load / compute) + 1;
  // One that decodes beside others is slower than it was alone: twice as many, where there is a core for each.
  const auto first = std::max(needed, std::min<std::int64_t>(2 * needed, per_gpu));
  Offer offer;
  for (const auto count : {std::clamp<std::int64_t>(first, 2, most), most}) {
    const auto value = std::to_string(count);
    const bool known = !offer.candidates.empty() && offer.candidates.front().value == value;
    if (known || count == loaders.front().workers) continue;
    const double left = std::max(0.0, load * static_cast<double>(now) / static_cast<double>(count) - compute);
    const double best = 1 / (compute + left);
    offer.candidates.push_back(
        {value,
         {.low = 1 + (best - 1) * 0.4,
          .high = std::max(best, 1.0),
          .method = fmt::format("steps wait for data {:.0f} % of their time", facts.phases.data * 100)}});
  }
  if (offer.candidates.empty()) offer.why_not = "it has as many as would help";
  return offer;
}

// Page-locked batches: copies to the GPU are faster.
Offer offer_loader_pin_memory(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.loaders.empty()) return no_offer("the program makes no DataLoader");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.loaders.front().pin_memory) return no_offer("the program does so");
  return one_offer("on",
                   {.low = 1.0, .high = 1.05, .method = "copies from page-locked memory are 2 to 3 times faster"});
}

// Workers that live through all epochs.
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
  const bool epochs_were_timed = facts.report.window && facts.report.window->steps >= loader.batches;
  if (epochs_were_timed) predicted.high = std::min(predicted.high, 1 / std::max(1 - facts.phases.data, 0.01));
  return one_offer("on", std::move(predicted));
}

// Batches that each worker holds ready.
Offer offer_loader_prefetch_factor(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.loaders.empty()) return no_offer("the program makes no DataLoader");
  if (facts.report.loaders.front().workers == 0) return no_offer("the loader has no workers");
  if (!facts.waits_for_data()) return no_offer("steps hardly wait for data");
  return one_offer("8", {.low = 1.0, .high = 1 + facts.phases.data / 2, .method = "evens out slow samples"});
}

}  // namespace

extern const Knob loader_workers_knob{
    .id = "loader.workers",
    .title = "workers of the data loader",
    .answers = "data_loading",
    .breaks = "random transforms draw other numbers; memory for each worker; start of the workers each epoch",
    .undo = "leave num_workers as it was",
    .numerics = Numerics::random_streams,
    .values = kWholeNumber,
    .risk = 1.1,
    .switchable = true,
    .bundled = true,
    .offer = offer_loader_workers,
    .place = Place::loader,
    .text = "Let worker processes read the data.",
    .code = "DataLoader(..., num_workers={}, persistent_workers=True)",
};

extern const Knob loader_pin_memory_knob{
    .id = "loader.pin_memory",
    .title = "page-locked batches",
    .answers = "host_transfer:pin_memory host_transfer",
    .breaks = "page-locked memory is taken from the machine",
    .undo = "leave pin_memory=False",
    .numerics = Numerics::exact,
    .values = "on",
    .switchable = true,
    .bundled = true,
    .offer = offer_loader_pin_memory,
    .place = Place::loader,
    .text = "Load into page-locked memory, and copy without waiting where the batch is not overwritten.",
    .code = "DataLoader(..., pin_memory=True)",
};

extern const Knob loader_persistent_workers_knob{
    .id = "loader.persistent_workers",
    .title = "workers kept between epochs",
    .answers = "data_loading",
    .breaks = "datasets whose state changes between epochs are not reloaded",
    .undo = "leave persistent_workers=False",
    .numerics = Numerics::exact,
    .values = "on",
    .switchable = true,
    .bundled = true,
    .offer = offer_loader_persistent_workers,
    .place = Place::loader,
    .text = "Keep the workers between epochs.",
    .code = "DataLoader(..., persistent_workers=True)",
};

extern const Knob loader_prefetch_factor_knob{
    .id = "loader.prefetch_factor",
    .title = "batches held ready",
    .answers = "data_loading",
    .breaks = "memory for the batches",
    .undo = "leave prefetch_factor=2",
    .numerics = Numerics::exact,
    .values = kWholeNumber,
    .switchable = true,
    .offer = offer_loader_prefetch_factor,
    .place = Place::loader,
    .text = "Let workers hold more batches ready.",
    .code = "DataLoader(..., prefetch_factor={})",
};

}  // namespace warpmark::optimize
