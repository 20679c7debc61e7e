// The GPU idles because the next batch is not there: time in data loaders (named so by the framework or the user), and
// long host work that ends with an upload.
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = rank.part_ns(Part::idle_data_loading);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  Finding finding =
      make_finding(kDataLoadingRule, lost, step,
                   "The GPU waits " + ms_text(lost) + " a step (" + percent_text(lost / step) + ") for input data");
  finding.evidence = {
      time_fact("data_loading_idle_per_step", "GPU idle while the host loads data, per step", lost),
      time_fact("data_loading_host_per_step", "Host time in data loading, per step",
                rank.replay.host_ns(HostCause::data_loading)),
      time_fact("gpu_busy_per_step", "GPU busy, per step",
                static_cast<double>(rank.busy.covered(rank.steps.start(), rank.steps.end())) / rank.step_count()),
      time_fact("step_time", "Step", step),
  };
  finding.recommendations = {
      {AdviceKind::code, "Load batches in worker processes, ahead of the GPU; as many workers as cores a GPU has.",
       "DataLoader(dataset, batch_size=B, num_workers=12, pin_memory=True, persistent_workers=True, "
       "prefetch_factor=4)"},
      {AdviceKind::code,
       "Move decoding and augmentation to the GPU (NVIDIA DALI, torchvision.transforms.v2 on CUDA tensors), "
       "or store the data decoded.",
       "batch = transforms(batch.to('cuda', non_blocking=True))"},
      {AdviceKind::command, "See whether the storage or the processors limit it.", "iostat -x 1 & mpstat -P ALL 1"},
  };
  show_idle(rank, {Part::idle_data_loading}, finding);
  return {finding};
}

void change(const Evidence&, double success, Change& change) {
  for (WhatIf& one : change.ranks) one.host_scale[static_cast<std::size_t>(HostCause::data_loading)] *= 1 - success;
}

}  // namespace

constinit const Rule kDataLoadingRule = {"data_loading", "data_loading", "Does the GPU wait for input data?",
                                         Need::gpu_work, apply,          change,
                                         {0.9, 1.0, 1.6}};

}  // namespace warpmark::analyze
