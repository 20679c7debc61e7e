// The GPU idles because the next batch is not there: time in data loaders (named so by the framework or the user), and
// long host work that ends with an upload.
#include <algorithm>

#include "analyze/evidence/main_thread.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr auto kLoading = static_cast<std::size_t>(HostCause::data_loading);

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
        "Use as many worker processes as each GPU has cores, loading further ahead, with less work per sample: the "
        "workers do not keep up.",
    .pytorch = kWorkers,
    .jax = kPrefetch,
};
// PyTorch documentation, torch.utils.data.DataLoader: persistent_workers.
constexpr Advice kKeepWorkers = {
    .kind = AdviceKind::code,
    .text = "Keep the worker processes from one epoch to the next: now each epoch starts new ones and ends them.",
    .pytorch = "DataLoader(dataset, batch_size=B, num_workers=N, persistent_workers=True)",
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

/// Where no range names the loader: a thread that is blocked waits for workers, one that computes loads the batch
/// itself.
bool have_workers(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  if (!rank.loading.waits_ns.empty()) return rank.loading.by_workers();
  if (shows_workers(*rank.timeline)) return true;
  const auto thread = main_thread(*evidence.session, rank);
  return thread && thread->idle_blocked_low > 0.5;
}

std::vector<Finding> apply_data_loading(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = evidence.attribution.lost_ns(AttributedTo::data_loading);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  Finding finding = make_finding(
      kDataLoadingRule, lost, step,
      "The GPU waits " + time_text(lost) + " per step (" + format_percent(lost / step) + ") for input data");
  finding.evidence = {
      time_fact("data_loading_idle_per_step", "GPU idle while the host loads data, per step", lost),
      time_fact("data_loading_host_per_step", "Host time in data loading, per step",
                rank.replay.host_ns(HostCause::data_loading)),
      time_fact("gpu_busy_per_step", "GPU busy, per step",
                static_cast<double>(rank.busy.covered(rank.steps.start(), rank.steps.end())) / rank.step_count()),
      time_fact("step_time", "Step", step),
  };
  // The first batch of a loader takes its start, too, and what the next ones take was not recorded.
  if (!rank.steps.repeating && rank.loading.waits_ns.size() == 1)
    finding.gain = {.method = "one batch alone was recorded", .unknown = true};
  const double restarts =
      restarts_of_workers_ns(*rank.timeline, rank.steps.start(), rank.steps.end()) / rank.step_count();
  const bool restarts_matter = restarts > kMatters * step;
  const bool mostly_restarts = restarts * 2 > lost;  // the first advice removes most of what is lost
  if (restarts_matter) {
    finding.evidence.push_back(
        time_fact("worker_restarts_per_step", "Host time to start and end worker processes, per step", restarts));
  }
  if (restarts_matter && mostly_restarts) advise(evidence, {kKeepWorkers}, finding);
  advise(evidence, {have_workers(evidence) ? kMoreWorkers : kLoadAhead, kReadAhead}, finding);
  if (restarts_matter && !mostly_restarts) advise(evidence, {kKeepWorkers}, finding);
  advise(evidence, {kDecodeOnGpu, kReadPastHost, kWatchHost}, finding);
  show_main_thread(evidence, finding);
  show_idle(rank, {Part::idle_data_loading}, finding);
  return {finding};
}

void change_data_loading(const Evidence&, double success, Change& change) {
  for (WhatIf& one : change.ranks) one.host_scale[kLoading] *= 1 - success;
}

}  // namespace

constinit const Rule kDataLoadingRule = {
    "data_loading",     "data_loading",      "Does the GPU wait for input data?", Need::gpu_work,
    apply_data_loading, change_data_loading, without<AttributedTo::data_loading>};

}  // namespace warpmark::analyze
