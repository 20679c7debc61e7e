// Debugging aids that were left on.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// Anomaly detection notes a stack at each operation of the forward and looks for NaN in each gradient, which the host
// waits for (PyTorch's "Automatic differentiation package", anomaly detection: for debugging only).
Offer offer_anomaly_detection(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!debugs_with(facts, "debug.anomaly_detection")) return no_offer("the program does not look for anomalies");
  return one_offer("off", {.low = 1.2, .high = 6, .method = "no gradient is looked through for NaN, no stack noted"});
}

// CUDA_LAUNCH_BLOCKING, which helps to find the kernel that fails (CUDA C++ Programming Guide, environment variables),
// makes the host wait for each kernel.
Offer offer_launch_blocking(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!debugs_with(facts, "debug.launch_blocking")) return no_offer("launches do not wait for their kernels");
  return one_offer("off", {.low = 1.1, .high = 4, .method = "the host launches ahead of the GPU"});
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
    .switchable = true,
    .bundled = true,
    .offer = offer_anomaly_detection,
    .text = "Leave anomaly detection to runs that hunt a NaN.",
    .code = "torch.autograd.set_detect_anomaly(False)",
};

extern const Knob launch_blocking_knob{
    .id = "debug.launch_blocking",
    .title = "launches that do not wait",
    .answers = "launch_overhead cpu_gpu_sync",
    .breaks = "kernel errors are reported at a later line",
    .undo = "set CUDA_LAUNCH_BLOCKING=1 again",
    .numerics = Numerics::exact,
    .values = "off",
    .bundled = true,
    .offer = offer_launch_blocking,
    .text = "Let launches run ahead.",
    .code = "unset CUDA_LAUNCH_BLOCKING",
};

}  // namespace warpmark::optimize
