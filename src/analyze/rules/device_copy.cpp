// Copies from one GPU to another, and on one, that nothing overlaps. Those within chains of elementwise kernels are
// memory_bandwidth's.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

// "Peer-to-Peer Memory Copy" and "Overlapping Behavior" of the CUDA C++ Programming Guide.
constexpr Advice kCopyDuringKernels = {
    .kind = AdviceKind::code,
    .text = "Copy in pieces on a stream of its own while kernels compute, or let kernels read the other GPU's memory.",
    .native =
        "cudaMemcpyPeerAsync(there, other, here, device, bytes, copy_stream);  // after a piece of the result\n"
        "cudaDeviceEnablePeerAccess(other, 0);  // or: kernels read and write there",
    .pytorch = "with torch.cuda.stream(copy_stream): y = x.to('cuda:1', non_blocking=True)",
};
constexpr Advice kWithoutCopy = {
    .kind = AdviceKind::code,
    .text = "Write results where they are read, instead of copying them there.",
    .native = "std::swap(current, next);  // two buffers that take turns, in place of a copy from one to the other",
    .pytorch = "torch.mul(a, b, out=buffer[i])  # instead of buffer[i].copy_(a * b)",
    .jax = "step = jax.jit(step, donate_argnums=0)  # results take the place of arguments",
};

struct Copies {
  double count = 0;
  double bytes = 0;
  double time_ns = 0;
  double between_ns = 0;  ///< GPUs
};

Copies copies_in_steps(const RankEvidence& rank) {
  Copies sum;
  const EventColumns& events = rank.timeline->events;
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (!rank.in_steps(work) || !is_lone_copy(rank, i)) continue;
    const auto ns = static_cast<double>(work.end - work.start);
    sum.count += 1;
    sum.bytes += static_cast<double>(events.value[work.event]);
    sum.time_ns += ns;
    if (copy_kind(events.detail[work.event]) == CopyKind::peer_to_peer) sum.between_ns += ns;
  }
  return sum;
}

std::vector<Finding> apply_device_copy(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = evidence.attribution.lost_ns(AttributedTo::device_copy);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const Copies copies = copies_in_steps(rank);
  const bool between = copies.between_ns * 2 > copies.time_ns;
  Finding finding =
      make_finding(kDeviceCopyRule, lost, step,
                   fmt::format("Copies {} take {} per step ({}) that nothing overlaps",
                               between ? "between GPUs" : "on the GPU", time_text(lost), format_percent(lost / step)));
  finding.evidence = {
      time_fact("exposed_copy_per_step", "Copies with no other GPU work, per step", lost),
      count_fact("copies_per_step", "Copies per step", copies.count / rank.step_count()),
  };
  if (copies.bytes > 0) finding.evidence.push_back(moved_fact(copies.bytes, copies.time_ns, rank.step_count()));
  if (between) advise(evidence, {kCopyDuringKernels}, finding);
  advise(evidence, {kWithoutCopy}, finding);
  // What other GPUs need has to move: at best next to all the rest.
  const double auxiliary = between ? std::max(step - lost, copies.time_ns / rank.step_count()) : step - lost;
  finding.gain = gain_up_to(std::min(replayed(kDeviceCopyRule, evidence, 1.0), step / std::max(1.0, auxiliary)),
                            "trace re-simulated without half and without all of these copies");
  show_works(
      rank, [&rank](std::size_t i) { return is_lone_copy(rank, i); }, finding);
  return {finding};
}

void change_device_copy(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    open_columns(evidence.ranks[r], change.ranks[r]);
    for (std::size_t i = 0; i < evidence.ranks[r].list.works.size(); ++i) {
      if (is_lone_copy(evidence.ranks[r], i)) change.ranks[r].duration_scale[i] *= static_cast<float>(1 - success);
    }
  }
}

}  // namespace

constinit const Rule kDeviceCopyRule = {
    "device_copy",  "memory_bandwidth", "Do copies on GPUs or between them stop the work?",
    Need::gpu_work, apply_device_copy,  change_device_copy};

}  // namespace warpmark::analyze
