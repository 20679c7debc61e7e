// Settings of number formats.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// bf16 in the forward of training; the optimizer and the weights stay in f32.
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

// Half precision for a program that only infers.
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
  return {.where = place_in(facts, Place::module),
          .text = "Infer in half precision.",
          .code = fmt::format("with torch.autocast(device_type, dtype=torch.{}):",
                              value == "fp16" ? "float16" : "bfloat16"),
          .predicted = {}};
}

// Weights in a narrower type: 16 bits for a program that only infers, 32 for one that computes in 64.
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
  return {.where = place_in(facts, Place::module),
          .text = trains ? "Compute in 32 bits." : "Hold the weights in half precision.",
          .code = trains            ? "model.float()  # and its inputs: torch.from_numpy(x).float()"
                  : value == "fp16" ? "model.half()  # and its inputs"
                                    : "model.bfloat16()  # and its inputs",
          .predicted = {}};
}

// TF32 in matrix products of f32, by PyTorch's documented variable, which needs no change of the program.
Offer offer_tf32(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.gpus.empty() || facts.report.gpus.front().major < 8) return no_offer("the GPU has no TF32");
  const auto& module = facts.report.modules.front();
  if (module.dtype != "torch.float32") return no_offer("the parameters are " + module.dtype);
  if (!value_of(settings, "precision.autocast").empty() || module.autocast) return no_offer("autocast is on");
  return one_offer("1", gain_of_share(model_share(facts), 1.05, 3, "the model"));
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
    .kernels = "bf16=bfloat16 bf16=bf16",
    .switchable = true,
    .bundled = true,
    .offer = offer_precision_autocast,
    .place = Place::module,
    .text = "Compute the forward in bf16.",
    .code = "with torch.autocast(device_type, dtype=torch.bfloat16):",
};

extern const Knob precision_inference_knob{
    .id = "precision.inference",
    .title = "half-precision inference",
    .answers = "precision memory_bandwidth",
    .breaks = "outputs differ in the third digit",
    .undo = "leave autocast out",
    .numerics = Numerics::precision,
    .values = "bf16|fp16",
    .risk = 1.2,
    .kernels = "bf16=bfloat16 bf16=bf16 fp16=half",
    .switchable = true,
    .bundled = true,
    .offer = offer_precision_inference,
    .source = precision_inference_source,
};

extern const Knob precision_weights_knob{
    .id = "precision.weights",
    .title = "weights in a narrower type",
    .answers = "precision memory_bandwidth",
    .breaks = "outputs differ in the third digit with 16 bits, in the seventh with 32",
    .undo = "leave the weights as they are",
    .numerics = Numerics::precision,
    .values = "bf16|fp16|f32",
    .risk = 1.15,
    .kernels = "bf16=bfloat16 bf16=bf16 fp16=half",
    .offer = offer_precision_weights,
    .source = precision_weights_source,
};

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
    .place = Place::module,
    .text = "Allow TF32 in matrix products.",
    .code = "torch.set_float32_matmul_precision(\"high\")",
};

}  // namespace warpmark::optimize
