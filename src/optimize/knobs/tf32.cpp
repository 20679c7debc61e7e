// TF32 in matrix products of f32, by PyTorch's documented variable, which needs no change of the program.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_tf32(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.gpus.empty() || facts.report.gpus.front().major < 8) return no_offer("the GPU has no TF32");
  const auto& module = facts.report.modules.front();
  if (module.dtype != "torch.float32") return no_offer("the parameters are " + module.dtype);
  if (!value_of(settings, "precision.autocast").empty() || module.autocast) return no_offer("autocast is on");
  return one_offer("1", gain_of_share(model_share(facts), 1.05, 3, "the model"));
}

OptimizationAdvice tf32_source([[maybe_unused]] const ProgramFacts& facts, [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Allow TF32 in matrix products.",
          .code = "torch.set_float32_matmul_precision(\"high\")",
          .predicted = {}};
}

}  // namespace

extern const Knob tf32_knob{
    .id = "tf32",
    .title = "TF32 matrix products",
    .answers = "precision:tf32",
    .breaks = "10 bits of mantissa in products",
    .undo = "unset the variable",
    .numerics = Numerics::precision,
    .values = "1",
    .risk = 1.1,
    .variable = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    .switchable = true,
    .bundled = true,
    .offer = offer_tf32,
    .source = tf32_source,
};

}  // namespace warpmark::optimize
