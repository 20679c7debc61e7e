// The processors that the program may use: those of the GPU's NUMA node. Memory follows by first touch, as Linux places
// a page on the node of the processor that writes it first.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

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

OptimizationAdvice process_affinity_source([[maybe_unused]] const ProgramFacts& facts,
                                           [[maybe_unused]] std::string_view value) {
  return {.where = std::string(),
          .text = "Bind the program to the processors that are next to its GPU.",
          .code = fmt::format("taskset -c {} python ...", value),
          .predicted = {}};
}

}  // namespace

extern const Knob process_affinity_knob{
    .id = "process.affinity",
    .title = "processors of the GPU's node",
    .answers = "host_transfer launch_overhead",
    .breaks = "other nodes' processors and memory bandwidth stay unused",
    .undo = "leave taskset out",
    .numerics = Numerics::exact,
    .risk = 1.2,
    .variable = "",
    .launcher = "taskset -c {}",
    .offer = offer_process_affinity,
    .source = process_affinity_source,
};

}  // namespace warpmark::optimize
