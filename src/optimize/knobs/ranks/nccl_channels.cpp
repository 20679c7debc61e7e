// How many multiprocessors NCCL may take: more move bytes faster, fewer leave more to the kernels beside.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_nccl_channels(const ProgramFacts& facts, const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  Offer offer;
  for (const char* value : {"4", "16"}) {
    if (value_of(settings, "nccl.channels") == value) continue;
    offer.candidates.push_back({value, gain_of_share(facts.phases.backward, 0.9, 1.1, "backward with the exchange")});
  }
  return offer;
}

OptimizationAdvice nccl_channels_source([[maybe_unused]] const ProgramFacts& facts,
                                        [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Limit the channels of NCCL.",
          .code = fmt::format("NCCL_MAX_NCHANNELS={}", value),
          .predicted = {}};
}

}  // namespace

extern const Knob nccl_channels_knob{
    .id = "nccl.channels",
    .title = "channels of NCCL",
    .answers = "multi_gpu_comm",
    .breaks = "bandwidth, where they are too few",
    .undo = "unset NCCL_MAX_NCHANNELS",
    .numerics = Numerics::rounding,
    .risk = 1.5,
    .variable = "NCCL_MAX_NCHANNELS",
    .offer = offer_nccl_channels,
    .source = nccl_channels_source,
};

}  // namespace warpmark::optimize
