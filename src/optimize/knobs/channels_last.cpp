// Convolutions on tensors whose channels are the last in memory.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_channels_last(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (convolutions(facts) == 0) return no_offer("there is no two-dimensional convolution");
  const auto& module = facts.report.modules.front();
  if (!module.images) return no_offer("no input has four dimensions");
  if (module.channels_last) return no_offer("the program does so");
  const bool half = !value_of(settings, "precision.autocast").empty() ||
                    !value_of(settings, "precision.inference").empty() || module.autocast;
  return one_offer("on",
                   gain_of_share(model_share(facts), 0.95, facts.on_gpu() ? (half ? 1.8 : 1.3) : 1.6, "the model"));
}

OptimizationAdvice channels_last_source([[maybe_unused]] const ProgramFacts& facts,
                                        [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Keep channels last in memory.",
          .code = "model = model.to(memory_format=torch.channels_last)  # and the inputs",
          .predicted = {}};
}

}  // namespace

extern const Knob channels_last_knob{
    .id = "channels_last",
    .title = "channels_last memory format",
    .answers = "memory_bandwidth uncoalesced_access sm_efficiency",
    .breaks = "views of the program that assume the order of memory",
    .undo = "leave .to(memory_format=...) out",
    .numerics = Numerics::rounding,
    .values = "on",
    .risk = 1.1,
    .variable = "",
    .kernels = "nhwc channels_last",
    .switchable = true,
    .bundled = true,
    .offer = offer_channels_last,
    .source = channels_last_source,
};

}  // namespace warpmark::optimize
