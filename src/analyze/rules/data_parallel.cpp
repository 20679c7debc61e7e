// torch.nn.DataParallel: one process and one interpreter dispatch for all GPUs, copy the model to each of them in every
// step, and gather all outputs on the first ("Use nn.parallel.DistributedDataParallel instead of ... nn.DataParallel",
// PyTorch's CUDA semantics). Known by the range that it records around its forward pass, or by its file in stacks. On
// one GPU it does nothing. A note, unless the GPUs idle for long while the host works or waits.
#include <algorithm>
#include <map>

#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

/// Time a step that each GPU computes, communication and copies apart.
std::map<int, double> computing_by_device(const Evidence& evidence, const RankEvidence& rank) {
  std::map<int, double> by_device;
  for (const RankEvidence& one : evidence.ranks) {
    if (one.timeline != rank.timeline) continue;
    for (const GpuWork& work : one.list.works) {
      if (!is_compute(work.category) || !rank.in_steps(work)) continue;
      by_device[rank.timeline->tracks[work.track].device] +=
          static_cast<double>(work.end - work.start) / rank.step_count();
    }
  }
  return by_device;
}

constexpr Advice kOneProcessEach = {
    .kind = AdviceKind::code,
    .text =
        "Use DistributedDataParallel: a process for each GPU, the model copied once, gradients summed while the "
        "backward pass computes.",
    .pytorch =
        "model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])  # torchrun "
        "--nproc-per-node=gpu train.py",
};

std::vector<Finding> apply_data_parallel(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  if (!any_name(rank.timeline->names, names_data_parallel)) return {};
  const std::map<int, double> computing = computing_by_device(evidence, rank);
  if (computing.size() < 2) return {};
  double all = 0, busiest = 0;
  for (const auto& [device, ns] : computing) all += ns, busiest = std::max(busiest, ns);
  const double step = rank.undisturbed_step_ns();
  // With a process each, the GPUs share the work evenly; the first one no longer does what was gathered on it alone.
  const double even = all / static_cast<double>(computing.size());
  Finding finding =
      make_finding(kDataParallelRule, std::max(0.0, step - even), step,
                   "One process drives " + std::to_string(computing.size()) +
                       " GPUs with nn.DataParallel: they compute " + format_percent(even / step) + " of the step");
  // What a process for each GPU does away with, if it is that much; the recording does not tell it from other waits.
  double idle =
      rank.part_ns(Part::idle_launch) + rank.part_ns(Part::idle_sync) + rank.part_ns(Part::idle_waiting_for_rank);
  for (const Doing& doing : doings_in(rank, Part::idle_host_work)) {
    if (doing.name.empty() || names_data_parallel(doing.name)) idle += doing.ns;
  }
  const double fault = severity_of(idle, step);
  finding.severity = std::min(finding.severity, fault >= kWarning ? fault : kMostOfANote);
  finding.evidence.push_back(time_fact("step", "Step", step));
  for (const auto& [device, ns] : computing) {
    finding.evidence.push_back(time_fact("computing_gpu_" + std::to_string(device),
                                         "GPU " + std::to_string(device) + " computes, per step", ns));
  }
  advise(evidence, {kOneProcessEach}, finding);
  show_works(
      rank, [&rank](std::size_t i) { return rank.list.works[i].category == Category::communication; }, finding);
  finding.gain = {.method = "how much of the host's time nn.DataParallel takes was not recorded", .unknown = true};
  return {finding};
}

}  // namespace

constinit const Rule kDataParallelRule = {"data_parallel", "multi_gpu_comm",
                                          "Does one process drive several GPUs with nn.DataParallel?", Need::gpu_work,
                                          apply_data_parallel};

}  // namespace warpmark::analyze
