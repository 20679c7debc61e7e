// The host waits for the GPU within the step (.item(), .cpu(), nonzero, explicit synchronization). The wait costs
// nothing by itself while the GPU works; lost is the GPU's idle time afterwards, no more of it than was waited.
#include <algorithm>
#include <map>

#include "analyze/evidence/host_lead.h"
#include "analyze/names/api_calls.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::string op_around(const RankEvidence& rank, EventIndex call) {
  if (rank.timeline->events.kind[call] == EventKind::os_call) return "waits outside of CUDA's calls (a lock, a signal)";
  for (EventIndex at = rank.list.parent[call]; at != kNoEvent; at = rank.list.parent[at]) {
    if (rank.timeline->events.kind[at] == EventKind::op) return std::string(rank.timeline->name_of(at));
  }
  return std::string(rank.timeline->name_of(call));
}

constexpr const char* kReadRarely =
    "Keep values on the GPU and read them rarely, many with one copy: .item(), .cpu(), torch.cuda.synchronize(), "
    "printing a tensor, nonzero() and boolean indexing wait.";
constexpr Advice kReadLossRarely = {
    .kind = AdviceKind::code,
    .text = kReadRarely,
    .pytorch = "running_loss += loss.detach()  # read with .item() every 100 steps",
};
constexpr Advice kReadResultsRarely = {
    .kind = AdviceKind::code,
    .text = kReadRarely,
    .pytorch = "results.append(y)  # tensors; one torch.stack(results).cpu() at the end",
};
constexpr Advice kReadArraysRarely = {
    .kind = AdviceKind::code,
    .text =
        "Keep values on the GPU and read them rarely: float(), np.asarray(), printing and block_until_ready() wait.",
    .jax = "metrics.append(loss)  # a jax.Array; np.asarray(jnp.stack(metrics)) every 100 steps",
};
// "Streams" and "Events" of the CUDA C++ Programming Guide; which calls wait: "API synchronization behavior" of the
// CUDA Runtime API (copies between the device and pageable memory do).
constexpr Advice kOrderByEvents = {
    .kind = AdviceKind::code,
    .text =
        "Order streams by events, so that the host need not wait in between: cudaDeviceSynchronize, "
        "cudaStreamSynchronize "
        "and cudaMemcpy stop it until the GPU is done.",
    .native =
        "cudaEventRecord(ready, stream);\n"
        "cudaStreamWaitEvent(other_stream, ready, 0);  // instead of cudaDeviceSynchronize()",
};
constexpr Advice kReadLater = {
    .kind = AdviceKind::code,
    .text = "Read results late: copy them into pinned memory, launch the next step, and only then look.",
    .native =
        "cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream);\n"
        "cudaEventRecord(copied, stream);  // cudaEventSynchronize(copied) after the launches of the next step",
    .cupy = "changes.append(change)  # 0-d arrays; float() and .get() wait: cupy.stack(changes).get() every 20 rounds",
};
constexpr Advice kFindWaits = {
    .kind = AdviceKind::command,
    .text = "Find every place that waits.",
    .native = "nsys profile --trace=cuda --sample=process-tree --cudabacktrace=sync:1000 <command>",
    .pytorch = "torch.cuda.set_sync_debug_mode('warn')",
    .jax = "with jax.transfer_guard('log'): state = step(state, batch)",
    .cupy = "with cupyx.allow_synchronize(False): step()  # raises where it waits",
};

struct Waits {
  double count = 0;
  double ns = 0;
  std::map<std::string, int> from;
};

Waits waits_in_steps(const RankEvidence& rank) {
  Waits waits;
  for (const BlockingCall& call : rank.host->blocking_calls()) {
    if (call.cause != HostCause::sync || call.end < rank.steps.start() || call.start >= rank.steps.end()) continue;
    if (!is_sync_call(rank.timeline->name_of(call.event)) && call.waited_ns == 0) continue;
    waits.count += 1;
    waits.ns += static_cast<double>(call.waited_ns);
    ++waits.from[op_around(rank, call.event)];
  }
  return waits;
}

std::string title_of(const DebugModes& modes, double lost, double step) {
  const std::string idle = "the GPU idle for " + time_text(lost) + " per step (" + format_percent(lost / step) + ")";
  if (modes.launches_block) return "Every launch waits for its kernel to end, which leaves " + idle;
  return "Waits of the host for the GPU leave " + idle;
}

void add_debug_modes(const RankEvidence& rank, const DebugModes& modes, Finding& finding) {
  if (modes.launches_block) {
    finding.evidence.push_back(share_fact("blocking_launch_share",
                                          "Launch calls that returned after the end of what they launched",
                                          modes.blocking_share));
    finding.evidence.push_back(time_fact("blocked_in_launches_per_step",
                                         "Host time in them beyond a launch that does not wait, per step",
                                         blocked_in_launches_ns(rank)));
    finding.recommendations.push_back(
        {AdviceKind::environment,
         "Unset CUDA_LAUNCH_BLOCKING, which is for finding faults: launches are synchronous (or leave out the debugger "
         "or tool that serializes kernels).",
         "unset CUDA_LAUNCH_BLOCKING"});
  }
}

std::vector<Finding> apply_cpu_gpu_sync(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const DebugModes& modes = rank.host->debug_modes();
  const Waits waits = waits_in_steps(rank);
  if (waits.count == 0 && !modes.launches_block) return {};
  const double step = rank.undisturbed_step_ns();
  const double idle = rank.part_ns(Part::idle_sync);
  const double lost = evidence.attribution.lost_ns(AttributedTo::cpu_gpu_sync);
  if (lost <= 0) return {};
  Finding finding = make_finding(kCpuGpuSyncRule, lost, step, title_of(modes, lost, step));
  finding.evidence = {
      time_fact("sync_idle_per_step", "GPU idle because the host had waited, per step", idle),
      count_fact("syncs_per_step", "Waits of the host per step", waits.count / rank.step_count()),
      time_fact("sync_wait_per_step", "Host time in them while the GPU worked, per step", waits.ns / rank.step_count()),
  };
  add_debug_modes(rank, modes, finding);
  if (!waits.from.empty()) {
    const auto most = std::max_element(waits.from.begin(), waits.from.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    finding.evidence.push_back({"Most often from: " + most->first, "sync_origin", std::nullopt, ""});
    advise(evidence, {rank.trains() ? kReadLossRarely : kReadResultsRarely}, finding);
    advise(evidence, {kReadArraysRarely, kOrderByEvents, kReadLater, kFindWaits}, finding);
  }
  show_idle(rank, {Part::idle_sync}, finding);
  if (modes.launches_block) show_idle(rank, {Part::idle_launch}, finding);
  return {finding};
}

void change_cpu_gpu_sync(const Evidence& evidence, double success, Change& change) {
  drop_waits(evidence, success, change);
}

}  // namespace

constinit const Rule kCpuGpuSyncRule = {
    "cpu_gpu_sync", "cpu_gpu_sync",     "Does the host wait for the GPU within the step?",
    Need::gpu_work, apply_cpu_gpu_sync, change_cpu_gpu_sync};

}  // namespace warpmark::analyze
