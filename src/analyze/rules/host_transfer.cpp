// HostCopies between host and GPU that nothing overlaps: pageable memory (the call stages it and blocks), large inputs,
// results copied back within the step. Values read back one by one are cpu_gpu_sync.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/names/ranges.h"
#include "analyze/rules/rules.h"
#include "base/units.h"

namespace warpmark::analyze {

namespace {

// "Page-Locked Host Memory" and "Overlap of Data Transfer and Kernel Execution" of the CUDA C++ Programming Guide: only
// copies from and to page-locked memory run beside kernels and without the host.
constexpr Advice kPinInputs = {
    .kind = AdviceKind::code,
    .text = "Pin the host memory and copy asynchronously, so that the copy overlaps computation.",
    .native =
        "cudaHostAlloc(&host, bytes, cudaHostAllocDefault);  // once, or cudaHostRegister what is there\n"
        "cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, copy_stream);",
    .pytorch = "loader = DataLoader(dataset, batch_size=B, pin_memory=True); x = x.to('cuda', non_blocking=True)",
    .cupy = "host = cupyx.empty_pinned(shape, dtype)  # once; filled in place, then x.set(host, stream=copy_stream)",
};
constexpr Advice kCopyAhead = {
    .kind = AdviceKind::code,
    .text = "Copy what the next step needs on a stream of its own while this one computes.",
    .native =
        "cudaMemcpyAsync(next, host, bytes, cudaMemcpyHostToDevice, copy_stream);\n"
        "cudaEventRecord(copied, copy_stream);\n"
        "cudaStreamWaitEvent(stream, copied, 0);  // before the kernels that read it",
    .pytorch = "with torch.cuda.stream(copy_stream): next_x = next_x.to('cuda', non_blocking=True)",
    .jax = "next_x = jax.device_put(next_x)  # returns at once: call it before the step that does not need it",
    .cupy = "next_x.set(pinned, stream=copy_stream); stream.wait_event(copy_stream.record())  # before what reads it",
};
constexpr Advice kPinResults = {
    .kind = AdviceKind::code,
    .text = "Copy results into pinned memory without waiting, and read them after the next step was launched.",
    .native =
        "cudaHostAlloc(&host, bytes, cudaHostAllocDefault);  // once\n"
        "cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, copy_stream);",
    .pytorch =
        "host = torch.empty(y.shape, dtype=y.dtype, pin_memory=True)  # once\n"
        "host.copy_(y, non_blocking=True)  # read it after torch.cuda.current_stream().synchronize()",
    .jax = "y.copy_to_host_async()  # np.asarray(y) after the next step was called",
    .cupy = "y.get(stream=copy_stream, out=pinned, blocking=False)  # pinned: cupyx.empty_pinned, once",
};
constexpr Advice kCopyLessBack = {
    .kind = AdviceKind::code,
    .text = "Copy less back: reduce on the GPU first (a maximum's index, the few best, bytes instead of floats).",
    .native = "reduce<<<blocks, 256, 0, stream>>>(scores, result, count);  // then copy the result alone",
    .pytorch = "result = y.argmax(dim=1).to(torch.uint8).cpu()  # instead of y.cpu()",
    .jax = "result = jnp.argmax(y, axis=1).astype(jnp.uint8)  # instead of y",
    .cupy = "result = y.argmax(axis=1).astype(cupy.uint8).get()  # instead of y.get()",
};

// "Data Prefetching" of the CUDA C++ Programming Guide, chapter "Unified Memory": pages that migrate on demand stop the
// kernel, or the host, that touches them.
constexpr Advice kPrefetch = {
    .kind = AdviceKind::code,
    .text = "Prefetch managed memory before it is touched, instead of page by page on demand.",
    .native =
        "cudaMemPrefetchAsync(data, bytes, device, stream);  // before the kernels that read it; to cudaCpuDeviceId "
        "before the host does",
    .cupy = "cupy.cuda.runtime.memPrefetchAsync(x.data.ptr, x.nbytes, device_id, stream.ptr)",
};
constexpr Advice kPrefetchInBackground = {
    .kind = AdviceKind::code,
    .text = "Prefetch managed memory piece by piece on a stream of its own, while kernels work on other pieces.",
    .native = "cudaMemPrefetchAsync(next_piece, bytes, device, copy_stream);",
    .cupy = "cupy.cuda.runtime.memPrefetchAsync(piece.data.ptr, piece.nbytes, device_id, copy_stream.ptr)",
};

// M. Harris, "How to Optimize Data Transfers in CUDA C/C++" (NVIDIA, 2012): pinned memory moves more than twice as
// fast.
constexpr double kPinnedShare = 0.5;

struct HostCopies {
  double count = 0;
  double bytes = 0;
  double pageable = 0;
  double pinned = 0;
  double to_host = 0;   ///< bytes
  double managed = 0;   ///< bytes of managed memory ...
  double migrated = 0;  ///< ... that moved on demand
  double time_ns = 0;
  /// Of each direction, which the link moves beside the other one: what is left of its time if all comes from pinned
  /// memory.
  double left_ns[2] = {};
};

void add_copies(const RankEvidence& rank, HostCopies& sum) {
  const EventColumns& events = rank.timeline->events;
  for (const GpuWork& work : rank.list.works) {
    if (!rank.in_steps(work) || !moves_data(work)) continue;
    sum.count += 1;
    sum.bytes += static_cast<double>(events.value[work.event]);
    sum.time_ns += static_cast<double>(work.end - work.start);
    const auto bytes = static_cast<double>(events.value[work.event]);
    const HostMemory memory = host_memory(events.detail[work.event]);
    if (memory == HostMemory::pageable) sum.pageable += bytes;
    if (memory == HostMemory::pinned) sum.pinned += bytes;
    if (work.category == Category::copy_to_host) sum.to_host += bytes;
    if (memory == HostMemory::managed) sum.managed += bytes;
    const bool on_demand = memory == HostMemory::managed && names_migration(rank.timeline->name_of(work.event));
    if (on_demand) sum.migrated += bytes;
    sum.left_ns[work.category == Category::copy_to_host] +=
        static_cast<double>(work.end - work.start) * (memory == HostMemory::pinned ? 1 : kPinnedShare);
  }
}

/// Of the rank; of a process with several GPUs to and from all of them, as its host copies for each.
HostCopies copies_in_steps(const Evidence& evidence) {
  HostCopies sum;
  if (evidence.of_gpus())
    for (const RankEvidence& rank : evidence.ranks) add_copies(rank, sum);
  else
    add_copies(evidence.rank(), sum);
  return sum;
}

void drop_copies(const Evidence& evidence, double success, Change& change) {
  constexpr auto kTransfer = static_cast<std::size_t>(HostCause::transfer);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    WhatIf& one = change.ranks[r];
    one.host_scale[kTransfer] *= 1 - success;
    one.drop_wait[kTransfer] = true;
    open_columns(rank, one);
    const std::vector<double> migrating = migrating_ns(rank);
    for (std::size_t i = 0; i < one.duration_scale.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      if (!migrating.empty() && migrating[i] > 0) {
        one.duration_scale[i] *=
            static_cast<float>(scaled(1 - migrating[i] / static_cast<double>(work.end - work.start), success));
      }
      if (!moves_data(work)) continue;
      one.duration_scale[i] *= static_cast<float>(1 - success);
      one.dispatch_scale[i] *= static_cast<float>(1 - success);  // what stays where it is needs no calls
    }
  }
}

/// By direction; what is pinned already need not be pinned.
void recommend_copies(const Evidence& evidence, const HostCopies& copies, Finding& finding) {
  const bool pinned = copies.pinned > kNearlyAll * copies.bytes && copies.bytes > 0;
  const bool back = copies.to_host > copies.bytes / 2;
  if (copies.managed > copies.bytes / 2) {
    if (copies.migrated * kFewest > copies.managed) advise(evidence, {kPrefetch}, finding);
    if (copies.migrated < copies.managed / 2) advise(evidence, {kPrefetchInBackground}, finding);
  }
  if (!finding.recommendations.empty()) return;
  if (back) {
    advise(evidence, {kPinResults, kCopyLessBack}, finding);
  } else if (pinned) {
    advise(evidence, {kCopyAhead, kSendFewerBytes}, finding);
  } else {
    advise(evidence, {kPinInputs, kCopyAhead, kSendFewerBytes}, finding);
  }
}

std::vector<Finding> apply_host_transfer(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  if (rank.over_host != OverHost::nothing) return {};  // multi_gpu_comm
  const HostCopies copies = copies_in_steps(evidence);
  const double exposed = rank.part_ns(Part::exposed_copy_to_device) + rank.part_ns(Part::exposed_copy_to_host);
  const double blocked = rank.part_ns(Part::idle_host_transfer);
  const double lost = evidence.attribution.lost_ns(AttributedTo::host_transfer);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const bool migrate = lost > 2 * (exposed + blocked);
  const std::string part = time_text(lost) + " per step (" + format_percent(lost / step) + ")";
  const bool both = lost > exposed + blocked + kMatters * step;
  const std::string title = migrate ? "Pages of managed memory migrate for " + part + " under kernels"
                            : both  ? "HostCopies, and pages that migrate under kernels, take " + part
                                    : "HostCopies between host and GPU take " + part + " that nothing overlaps";
  Finding finding = make_finding(kHostTransferRule, lost, step, title);
  finding.evidence = {
      time_fact("exposed_copy_per_step", "HostCopies with no other GPU work, per step", exposed),
      time_fact("blocked_copy_per_step", "GPU idle while the host is inside a copy call, per step", blocked),
      count_fact("copies_per_step", "HostCopies per step", copies.count / rank.step_count()),
  };
  if (copies.time_ns > 0) {
    finding.evidence.push_back(moved_fact(copies.bytes, copies.time_ns, rank.step_count()));
    const double all = std::max(1.0, copies.bytes);
    finding.evidence.push_back(
        copies.managed > 0
            ? share_fact("migrated_share", "Of it pages of managed memory on demand", copies.migrated / all)
            : share_fact("pageable_share", "Of it in pageable memory", copies.pageable / all));
  }
  recommend_copies(evidence, copies, finding);
  // At best copies and all the rest run side by side: the step takes as long as the longer of them.
  const double auxiliary =
      std::max({step - lost, copies.left_ns[0] / rank.step_count(), copies.left_ns[1] / rank.step_count()});
  const double overlapped = std::min(replayed(kHostTransferRule, evidence, 1.0), step / std::max(1.0, auxiliary));
  finding.gain =
      gain_up_to(overlapped, "trace re-simulated without half and without all of these copies, as far as they overlap");
  // Where copies take far longer than all that could hide them, only fewer of them help.
  if (double{kFewest} * step * (1 - 1 / overlapped) < lost && severity_of(lost, step) >= kWarning) {
    finding.gain = {.method = fmt::format(
                        "overlapping them gains {} at most, and how much of the data has to move was not recorded",
                        format_times(overlapped)),
                    .unknown = true};
  }
  show_works(
      rank, [&rank](std::size_t i) { return moves_data(rank.list.works[i]); }, finding);
  return {finding};
}

void change_host_transfer(const Evidence& evidence, double success, Change& change) {
  drop_copies(evidence, success, change);
}

}  // namespace

constinit const Rule kHostTransferRule = {
    "host_transfer", "data_loading",      "Do copies between host and GPU stop the work?",
    Need::gpu_work,  apply_host_transfer, change_host_transfer};

}  // namespace warpmark::analyze
