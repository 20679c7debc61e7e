// Settings of the process.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// Threads within an operation on the CPU.
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

// The processors that the program may use: those of the GPU's NUMA node. Memory follows by first touch, as Linux places
// a page on the node of the processor that writes it first.
Offer offer_process_affinity(const ProgramFacts& facts, const Settings& settings) {
  const auto& report = facts.report;
  if (!value_of(settings, "process.affinity").empty()) return no_offer("it is bound");
  if (report.node_cpus.size() < 2) return no_offer("the machine has one NUMA node");
  if (!report.has_taskset) return no_offer("there is no taskset (util-linux)");
  if (report.world > 1)
    return no_offer("ranks share the command: bind each in the launcher (torchrun --numa-binding=node)");
  if (facts.on_gpu() && report.gpu_node < 0) return no_offer("the GPU's NUMA node is not known");
  const auto node = facts.on_gpu() ? static_cast<std::size_t>(report.gpu_node) : 0;
  if (node >= report.node_cpus.size() || report.node_cpus[node].empty()) return no_offer("that node has no processors");
  if (report.node_cpus[node] == report.allowed_cpus) return no_offer("it is bound so");
  return one_offer(report.node_cpus[node],
                   gain_of_share(facts.phases.data + facts.phases.rest, 1.0, 1.3, "work of the host"));
}

// Another allocator of the host: jemalloc or tcmalloc, preloaded.
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

// What lives at the first step is taken out of the reach of Python's collector.
Offer offer_python_gc(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.steps.empty()) return no_offer("no step was found");
  if (facts.seconds_per_step > 0.05) return no_offer("steps are long against a collection");
  return one_offer("on", {.low = 1.0, .high = 1.02, .method = "fewer objects to look through"});
}

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
    .text = "Give operations another number of threads.",
    .code = "OMP_NUM_THREADS={}",
};

extern const Knob process_affinity_knob{
    .id = "process.affinity",
    .title = "processors of the GPU's node",
    .answers = "host_transfer launch_overhead",
    .breaks = "other nodes' processors and memory bandwidth stay unused",
    .undo = "leave taskset out",
    .numerics = Numerics::exact,
    .risk = 1.2,
    .launcher = "taskset -c {}",
    .offer = offer_process_affinity,
    .text = "Bind the program to the processors that are next to its GPU.",
    .code = "taskset -c {} python ...",
};

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
    .text = "Use another allocator on the host.",
    .code = "LD_PRELOAD={}",
};

extern const Knob python_gc_knob{
    .id = "python.gc_freeze",
    .title = "collector leaves old objects alone",
    .answers = "",  // of launches that are late, a collection is the smallest part
    .breaks = "cycles among old objects are never freed",
    .undo = "leave gc.freeze() out",
    .numerics = Numerics::exact,
    .values = "on",
    .switchable = true,
    .offer = offer_python_gc,
    .place = Place::module,
    .text = "Freeze what lives after the first steps.",
    .code = "gc.collect(); gc.freeze()",
};

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
