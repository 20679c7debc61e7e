// cuDNN tries its algorithms at the first call of each shape.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_cudnn_benchmark(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (convolutions(facts) == 0) return no_offer("there is no convolution");
  return one_offer("on", gain_of_share(model_share(facts), 1.0, 1.25, "the model"));
}

OptimizationAdvice cudnn_benchmark_source([[maybe_unused]] const ProgramFacts& facts,
                                          [[maybe_unused]] std::string_view value) {
  return {.where = module_place(facts),
          .text = "Let cuDNN try its algorithms.",
          .code = "torch.backends.cudnn.benchmark = True",
          .predicted = {}};
}

}  // namespace

extern const Knob cudnn_benchmark_knob{
    .id = "cudnn.benchmark",
    .title = "cuDNN tries its algorithms",
    .answers = "sm_efficiency occupancy tail_effect",
    .breaks = "shapes that change are tried again each time; memory while trying",
    .undo = "leave torch.backends.cudnn.benchmark = False",
    .numerics = Numerics::rounding,
    .values = "on",
    .risk = 1.1,
    .variable = "",
    .switchable = true,
    .bundled = true,
    .offer = offer_cudnn_benchmark,
    .source = cudnn_benchmark_source,
};

}  // namespace warpmark::optimize
