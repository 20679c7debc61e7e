// Anomaly detection notes a stack at each operation of the forward and looks for NaN in each gradient, which the host
// waits for (PyTorch's "Automatic differentiation package", anomaly detection: for debugging only).
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

Offer offer_anomaly_detection(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!debugs_with(facts, "debug.anomaly_detection")) return no_offer("the program does not look for anomalies");
  return one_offer("off", {.low = 1.2, .high = 6, .method = "no gradient is looked through for NaN, no stack noted"});
}

OptimizationAdvice anomaly_detection_source([[maybe_unused]] const ProgramFacts& facts,
                                            [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Leave anomaly detection to runs that hunt a NaN.",
          .code = "torch.autograd.set_detect_anomaly(False)",
          .predicted = {}};
}

}  // namespace

extern const Knob anomaly_detection_knob{
    .id = "debug.anomaly_detection",
    .title = "anomaly detection off",
    .answers = "cpu_gpu_sync launch_overhead",
    .breaks = "NaN are no longer reported where they arise",
    .undo = "switch it on again",
    .numerics = Numerics::exact,
    .values = "off",
    .risk = 1,
    .variable = "",
    .switchable = true,
    .bundled = true,
    .offer = offer_anomaly_detection,
    .source = anomaly_detection_source,
};

}  // namespace warpmark::optimize
