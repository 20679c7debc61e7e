// Half precision for a program that only infers.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_precision_inference(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  if (facts.trains()) return no_offer("the program trains; see precision.autocast");
  const auto& module = facts.report.modules.front();
  if (module.autocast) return no_offer("the program does so");
  if (module.dtype != "torch.float32") return no_offer("the parameters are " + module.dtype);
  if (!facts.on_gpu()) {
    return one_offer("bf16", gain_of_share(model_share(facts), 0.6, 1.5, "the model, on a CPU that may have no bf16,"));
  }
  Offer offer = one_offer("fp16", gain_of_share(model_share(facts), 1.2, 3.5, "the model"));
  if (!facts.report.gpus.empty() && facts.report.gpus.front().major >= 8) {
    offer.candidates.insert(offer.candidates.begin(),
                            {"bf16", gain_of_share(model_share(facts), 1.2, 3.6, "the model")});
  }
  return offer;
}

OptimizationAdvice precision_inference_source([[maybe_unused]] const ProgramFacts& facts,
                                              [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Infer in half precision.",
          .code = fmt::format("with torch.autocast(device_type, dtype=torch.{}):",
                              value == "fp16" ? "float16" : "bfloat16"),
          .predicted = {}};
}

}  // namespace

extern const Knob precision_inference_knob{
    .id = "precision.inference",
    .title = "half-precision inference",
    .answers = "precision memory_bandwidth",
    .breaks = "outputs differ in the third digit",
    .undo = "leave autocast out",
    .numerics = Numerics::precision,
    .values = "bf16|fp16",
    .risk = 1.2,
    .variable = "",
    .kernels = "bf16=bfloat16 bf16=bf16 fp16=half",
    .switchable = true,
    .bundled = true,
    .offer = offer_precision_inference,
    .source = precision_inference_source,
};

}  // namespace warpmark::optimize
