// Weights in a narrower type: 16 bits for a program that only infers, 32 for one that computes in 64.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

constexpr const char* kName = "the model";

Offer offer_precision_weights(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  if (facts.report.world > 1) return no_offer("ranks exchange what is made before the first forward");
  const auto& module = facts.report.modules.front();
  // A GPU of a data centre has half of f32's rate in f64 outside of matrix products, others 1/64.
  if (module.dtype == "torch.float64") {
    return one_offer("f32",
                     gain_of_share(model_share(facts), facts.on_gpu() ? 1.5 : 1.1, facts.on_gpu() ? 16 : 2.2, kName));
  }
  if (module.dtype != "torch.float32") return no_offer("the parameters are " + module.dtype);
  if (facts.trains()) return no_offer("weights of 16 bits lose small updates; see precision.autocast");
  if (module.autocast) return no_offer("the program uses autocast");
  if (!facts.on_gpu()) return no_offer("a CPU may have no 16 bits");
  Offer offer = one_offer("fp16", gain_of_share(model_share(facts), 1.2, 4, kName));
  if (!facts.report.gpus.empty() && facts.report.gpus.front().major >= 8) {
    offer.candidates.insert(offer.candidates.begin(), {"bf16", gain_of_share(model_share(facts), 1.2, 4.2, kName)});
  }
  return offer;
}

OptimizationAdvice precision_weights_source(const ProgramFacts& facts, std::string_view value) {
  const bool trains = value == "f32";
  return {.where = module_place(facts),
          .text = trains ? "Compute in 32 bits." : "Hold the weights in half precision.",
          .code = trains            ? "model.float()  # and its inputs: torch.from_numpy(x).float()"
                  : value == "fp16" ? "model.half()  # and its inputs"
                                    : "model.bfloat16()  # and its inputs",
          .predicted = {}};
}

}  // namespace

extern const Knob precision_weights_knob{
    .id = "precision.weights",
    .title = "weights in a narrower type",
    .answers = "precision memory_bandwidth",
    .breaks = "outputs differ in the third digit with 16 bits, in the seventh with 32",
    .undo = "leave the weights as they are",
    .numerics = Numerics::precision,
    .values = "bf16|fp16|f32",
    .risk = 1.15,
    .variable = "",
    .kernels = "bf16=bfloat16 bf16=bf16 fp16=half",
    .offer = offer_precision_weights,
    .source = precision_weights_source,
};

}  // namespace warpmark::optimize
