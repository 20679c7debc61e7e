#include "optimize/advice.h"

#include <fmt/format.h>

namespace warpmark::optimize {
namespace {

constexpr double kWorthSaying = 0.10;  // of a step

void unproven(const ProgramFacts& facts, std::vector<JourneyAdvice>& advice) {
  const auto& report = facts.report;
  const auto& phases = facts.phases;
  if (!report.loaders.empty() && report.loaders.front().iterable && phases.data > kWorthSaying) {
    advice.push_back({.where = report.loaders.front().where,
                      .text = "The data come from an IterableDataset, which each worker would read whole: give every "
                              "worker its part, then add workers.",
                      .code = "info = torch.utils.data.get_worker_info(); items = items[info.id::info.num_workers]",
                      .predicted = Prediction{1, 1 / (1 - phases.data), "steps wait for data"}});
  }
  if (phases.rest > 2 * kWorthSaying && facts.trains()) {
    advice.push_back({.where = {},
                      .text = fmt::format("{:.0f} % of a step is outside of data, forward, backward and optimizer: "
                                          "reading values (.item(), print of a loss) waits for the GPU, and so do "
                                          "copies. Do it every some steps.",
                                          phases.rest * 100),
                      .code = "if step % 50 == 0: print(loss.item())",
                      .predicted = Prediction{1, 1 / (1 - phases.rest), "share of a step"}});
  }
  if (facts.on_gpu() && !report.loaders.empty() && report.loaders.front().pin_memory) {
    advice.push_back({.where = report.loaders.front().where,
                      .text = "Batches are page-locked: copies need not wait, as long as the program does not "
                              "overwrite a batch.",
                      .code = "x = x.to(device, non_blocking=True)",
                      .predicted = {}});
  }
}

}  // namespace

std::vector<JourneyAdvice> advice_for(const ProgramFacts& facts, const Settings& kept) {
  std::vector<JourneyAdvice> advice;
  for (const auto& setting : kept) {
    const Knob* knob = find_in(knobs(), setting.knob);
    if (knob != nullptr) advice.push_back(knob->source(facts, setting.value));
  }
  unproven(facts, advice);
  return advice;
}

}  // namespace warpmark::optimize
