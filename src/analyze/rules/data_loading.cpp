// The GPU idles because the next batch is not there: time in data loaders (named so by the framework or the user), and
// long host work that ends with an upload.
#include <algorithm>

#include "analyze/cures/fitted.h"
#include "analyze/evidence/main_thread.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr auto kLoading = static_cast<std::size_t>(HostCause::data_loading);

/// The recorded idle time alone: where the cost of recording is overestimated, the replay has the host ahead of the GPU
/// and loading hidden, though the GPU was seen to wait for it.
double gain_of_idle_time(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double step = rank.undisturbed_step_ns();
  if (!rank.loading.in_process) return 1;
  return step / std::max(1.0, step - (1 - kLeftWithWorkers) * rank.part_ns(Part::idle_data_loading));
}

/// Mean over the batches of the longest wait of any rank, which the others then wait for: now one rank's workers are
/// late, now another's. Recordings end together: batches are counted from there.
double mean_longest_wait_ns(const Evidence& evidence) {
  std::size_t batches = SIZE_MAX;
  for (const RankEvidence& one : evidence.ranks) batches = std::min(batches, one.loading.waits_ns.size());
  double sum = 0;
  for (std::size_t back = 1; back <= batches; ++back) {
    double longest = 0;
    for (const RankEvidence& one : evidence.ranks)
      longest = std::max(longest, one.loading.waits_ns[one.loading.waits_ns.size() - back]);
    sum += longest;
  }
  return batches == 0 ? 0 : sum / static_cast<double>(batches);
}

/// Recordings of a few steps hold few batches: all waits of the recording count, not only those of the analyzed steps.
/// Worker processes deliver in bursts (the mean wait tells their pace), which is also the pace of the loop whatever the
/// recording cost; loading in the program's own process is steady but for outliers (the median). Of several ranks the
/// one that waits longest sets the pace; how long it waited for the others is not part of its loop.
double gain_without_waits(const Evidence& evidence) {
  const auto usual_of = [](const RankEvidence& one) {
    return one.loading.in_process ? one.loading.median_ns() : one.loading.mean_ns();
  };
  const RankEvidence& rank = *std::ranges::max_element(evidence.ranks, {}, usual_of);
  const double replayed_gain = replayed(kDataLoadingRule, evidence, 1.0);
  const double before = rank.replay.step_ns();
  const Loading& loading = rank.loading;
  if (before <= 0 || loading.waits_ns.size() < 2) return replayed_gain;
  const double in_steps = rank.replay.host_ns(HostCause::data_loading);
  const double usual = usual_of(rank);
  double step = std::max(before - in_steps, 0.0) + usual;
  if (!loading.in_process) {
    const double longest = std::max(usual, mean_longest_wait_ns(evidence));
    const double paced = rank.step_ns() - in_steps + longest;
    step = std::max(step, evidence.ranks.size() == 1 ? paced : std::min(paced, rank.step_ns()));
  }
  const double after =
      std::max(evidence.base_step_ns / replayed_gain, loading.in_process ? usual * kLeftWithWorkers : 0.0);
  return std::max(step / after, gain_of_idle_time(evidence));
}

// Told as what computes it: the recording may be of another machine. Where there are fewer cores than GPUs one is left,
// as persistent workers that are none are an error.
constexpr const char* kWorkers =
    "cores_per_gpu = len(os.sched_getaffinity(0)) // torch.cuda.device_count()\n"
    "DataLoader(dataset, batch_size=B, num_workers=max(1, cores_per_gpu),\n"
    "           pin_memory=True, persistent_workers=True, prefetch_factor=4)";
constexpr const char* kPrefetch =
    "cores_per_gpu = len(os.sched_getaffinity(0)) // jax.local_device_count()\n"
    "dataset = dataset.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=max(1, cores_per_gpu)))";
constexpr Advice kLoadAhead = {
    .kind = AdviceKind::code,
    .text = "Load batches in worker processes, ahead of the GPU; as many workers as the host has cores for each GPU.",
    .pytorch = kWorkers,
    .jax = kPrefetch,
};
constexpr Advice kMoreWorkers = {
    .kind = AdviceKind::code,
    .text =
        "The worker processes do not keep up: as many as cores a GPU has, loading further ahead, and less work a "
        "sample.",
    .pytorch = kWorkers,
    .jax = kPrefetch,
};
constexpr Advice kReadAhead = {
    .kind = AdviceKind::code,
    .text = "Read the next batch on a thread of its own while the GPU works on this one, into pinned memory.",
    .native =
        "auto next = std::async(std::launch::async, read_batch, pinned[(i + 1) % 2]);  // both from cudaHostAlloc",
    .cupy = "batch = executor.submit(read_batch, pinned[(i + 1) % 2])  # both from cupyx.empty_pinned",
};
constexpr Advice kDecodeOnGpu = {
    .kind = AdviceKind::code,
    .text = "Move decoding and augmentation to the GPU (NVIDIA DALI), or store the data decoded.",
    .pytorch =
        "batch = transforms(batch.to('cuda', non_blocking=True))  # torchvision.transforms.v2 takes CUDA tensors",
    .jax = "from nvidia.dali.plugin.jax import DALIGenericIterator",
};
// GPUDirect Storage ("cuFile API Reference Guide").
constexpr Advice kReadPastHost = {
    .kind = AdviceKind::code,
    .text = "Decode on the GPU (nvJPEG, nvCOMP) and read files into its memory directly, or store the data decoded.",
    .native = "cuFileRead(file, device_pointer, bytes, file_offset, 0);",
};
constexpr const char* kWatch = "iostat -x 1 & mpstat -P ALL 1";
constexpr Advice kWatchHost = {
    .kind = AdviceKind::command,
    .text = "See whether the storage or the processors limit it.",
    .native = kWatch,
    .pytorch = kWatch,
    .jax = kWatch,
};

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = evidence.attribution.lost_ns(Claimant::data_loading);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  Finding finding =
      make_finding(kDataLoadingRule, lost, step,
                   "The GPU waits " + time_text(lost) + " a step (" + format_percent(lost / step) + ") for input data");
  finding.evidence = {
      time_fact("data_loading_idle_per_step", "GPU idle while the host loads data, per step", lost),
      time_fact("data_loading_host_per_step", "Host time in data loading, per step",
                rank.replay.host_ns(HostCause::data_loading)),
      time_fact("gpu_busy_per_step", "GPU busy, per step",
                static_cast<double>(rank.busy.covered(rank.steps.start(), rank.steps.end())) / rank.step_count()),
      time_fact("step_time", "Step", step),
  };
  const bool workers = rank.loading.by_workers();
  advise(evidence, {workers ? kMoreWorkers : kLoadAhead, kReadAhead}, finding);
  const std::size_t on_gpu = finding.recommendations.size();
  advise(evidence, {kDecodeOnGpu, kReadPastHost, kWatchHost}, finding);
  if (workers && evidence.ranks.size() == 1) {
    finding.recommendations[on_gpu].id = "gpu_preprocessing";
    finding.recommendations[on_gpu].gain = gain_around(gain_without_waits(evidence), kDataLoadingRule.calibration,
                                                       "replay of the recorded steps without waiting for input");
  }
  show_main_thread(evidence, finding);
  show_idle(rank, {Part::idle_data_loading}, finding);
  return {finding};
}

void change(const Evidence&, double success, Change& change) {
  for (WhatIf& one : change.ranks) one.host_scale[kLoading] *= 1 - success;
}

double foretell(const Evidence& evidence) {
  const double without_waits = gain_without_waits(evidence);
  if (!evidence.rank().loading.by_workers()) return without_waits;
  const double reach = evidence.ranks.size() == 1 ? kWorkersReach : kWorkersReachOfRanks;
  return std::max(1.0, std::min(without_waits, kMostMoreWorkers) * reach);
}

}  // namespace

constinit const Rule kDataLoadingRule = {"data_loading", "data_loading", "Does the GPU wait for input data?",
                                         Need::gpu_work, apply,          change,
                                         {1.0, 0.0},     foretell};

}  // namespace warpmark::analyze
