// bf16 in the forward of training; the optimizer and the weights stay in f32.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_precision_autocast(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  if (!facts.trains()) return no_offer("the program does not train; see precision.inference");
  const auto& module = facts.report.modules.front();
  if (module.autocast) return no_offer("the program does so");
  if (module.dtype != "torch.float32") return no_offer("the parameters are " + module.dtype);
  if (!facts.on_gpu()) {
    return one_offer("bf16", gain_of_share(model_share(facts), 0.6, 1.5, "the model, on a CPU that may have no bf16,"));
  }
  if (facts.report.gpus.empty() || facts.report.gpus.front().major < 8) return no_offer("the GPU has no bf16");
  return one_offer("bf16", gain_of_share(model_share(facts), 1.2, 4, "the model"));
}

OptimizationAdvice precision_autocast_source([[maybe_unused]] const ProgramFacts& facts,
                                             [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Compute the forward in bf16.",
          .code = "with torch.autocast(device_type, dtype=torch.bfloat16):",
          .predicted = {}};
}

}  // namespace

extern const Knob precision_autocast_knob{
    .id = "precision.autocast",
    .title = "bf16 autocast",
    .answers = "precision memory_bandwidth",
    .breaks = "8 bits of mantissa in products; losses made outside of the module stay f32",
    .undo = "leave autocast out",
    .numerics = Numerics::precision,
    .values = "bf16",  // f16 needs a scaler around the optimizer, which is not put in from outside
    .risk = 1.3,
    .variable = "",
    .kernels = "bf16=bfloat16 bf16=bf16",
    .switchable = true,
    .bundled = true,
    .offer = offer_precision_autocast,
    .source = precision_autocast_source,
};

}  // namespace warpmark::optimize
