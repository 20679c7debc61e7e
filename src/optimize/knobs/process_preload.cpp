// Another allocator of the host: jemalloc or tcmalloc, preloaded.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_process_preload(const ProgramFacts& facts, const Settings& settings) {
  if (facts.report.allocators.empty()) return no_offer("neither jemalloc nor tcmalloc is installed");
  if (!value_of(settings, "process.preload").empty()) return no_offer("one is preloaded");
  const double share = facts.on_gpu() ? facts.phases.data : facts.phases.data + model_share(facts);
  Offer offer;
  for (const auto& path : facts.report.allocators) {
    offer.candidates.push_back({path, gain_of_share(share, 0.9, 1.15, "what allocates on the host")});
  }
  return offer;
}

OptimizationAdvice process_preload_source([[maybe_unused]] const ProgramFacts& facts,
                                          [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Use another allocator on the host.",
          .code = fmt::format("LD_PRELOAD={}", value),
          .predicted = {}};
}

}  // namespace

extern const Knob process_preload_knob{
    .id = "process.preload",
    .title = "allocator of the host",
    .answers = "",
    .breaks = "more memory of the host; programs that bring their own allocator",
    .undo = "unset LD_PRELOAD",
    .numerics = Numerics::exact,
    .risk = 1.3,
    .variable = "LD_PRELOAD",
    .joined = ':',
    .offer = offer_process_preload,
    .source = process_preload_source,
};

}  // namespace warpmark::optimize
