// Threads within an operation on the CPU.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_process_threads(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.torch.empty()) return no_offer("torch is not imported");
  if (facts.on_gpu()) return no_offer("the model is on a GPU");
  const auto now = facts.report.threads, cores = facts.report.cpus / std::max<std::int64_t>(1, facts.report.world);
  const double share = model_share(facts) + facts.phases.optimizer;
  if (now < cores && value_of(settings, "process.threads").empty()) {
    const double most = static_cast<double>(cores) / static_cast<double>(std::max<std::int64_t>(1, now));
    return one_offer(std::to_string(cores), gain_of_share(share, 0.9, most, "the model"));
  }
  if (now > 1 && value_of(settings, "process.threads").empty()) {
    // Small operations lose more by meeting than they gain; hyper-threads share what computes.
    return one_offer(std::to_string(std::max<std::int64_t>(1, now / 2)), gain_of_share(share, 0.6, 1.2, "the model"));
  }
  return no_offer("there is one core");
}

OptimizationAdvice process_threads_source([[maybe_unused]] const ProgramFacts& facts,
                                          [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Give operations another number of threads.",
          .code = fmt::format("OMP_NUM_THREADS={}", value),
          .predicted = {}};
}

}  // namespace

extern const Knob process_threads_knob{
    .id = "process.threads",
    .title = "threads of an operation",
    .answers = "",
    .breaks = "other processes of the machine get less; sums in another order",
    .undo = "unset OMP_NUM_THREADS",
    .numerics = Numerics::rounding,
    .values = kWholeNumber,
    .risk = 1.1,
    .variable = "OMP_NUM_THREADS",
    .switchable = true,
    .offer = offer_process_threads,
    .source = process_threads_source,
};

}  // namespace warpmark::optimize
