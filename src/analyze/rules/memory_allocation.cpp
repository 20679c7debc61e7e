// Device memory is allocated or freed within the step: each cudaMalloc takes the driver's lock, each cudaFree waits for
// the GPU. A caching or stream-ordered allocator does neither in steady state.
#include <algorithm>

#include "analyze/lead.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr auto kAllocation = static_cast<std::size_t>(HostCause::allocation);

constexpr Advice kCachingAllocator = {
    AdviceKind::environment,
    "Leave the caching allocator on, and let it keep what it has.",
    nullptr,
    "unset PYTORCH_NO_CUDA_MEMORY_CACHING; export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    "unset XLA_PYTHON_CLIENT_ALLOCATOR XLA_PYTHON_CLIENT_PREALLOCATE",
    "# remove cupy.cuda.set_allocator(None), and limits of the pool (CUPY_GPU_MEMORY_LIMIT)",
};
constexpr Advice kKeepCache = {
    AdviceKind::code, "Do not empty the cache within the loop; it frees what the next step allocates again.",
    nullptr,          "# remove torch.cuda.empty_cache() from the loop",
    nullptr,          "# remove cupy.get_default_memory_pool().free_all_blocks() from the loop",
};
// "Stream Ordered Memory Allocator" of the CUDA C++ Programming Guide: an allocation is an operation of its stream, and
// a pool gives memory back at every synchronization unless its release threshold says otherwise.
constexpr Advice kAllocateInOrder = {
    AdviceKind::code,
    "Allocate before the loop, or from a pool in stream order: cudaMalloc takes the driver's lock, cudaFree waits for "
    "the GPU.",
    "cudaMallocAsync(&pointer, bytes, stream);\ncudaFreeAsync(pointer, stream);",
};
constexpr Advice kKeepPool = {
    AdviceKind::code,
    "Let the pool keep its memory when the host synchronizes.",
    "std::uint64_t keep = UINT64_MAX;\n"
    "cudaDeviceGetDefaultMemPool(&pool, device);\n"
    "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);",
};

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  double calls = 0;
  double time = 0;
  for (const BlockingCall& call : rank.host->blocking_calls()) {
    if (call.cause != HostCause::allocation || call.end < rank.steps.start() || call.start >= rank.steps.end())
      continue;
    calls += 1;
    time += static_cast<double>(call.end - call.start);
  }
  const double idle = rank.part_ns(Part::idle_allocation);
  if (calls == 0 || idle <= 0) return {};
  const double later = late_by_allocations_ns(evidence);
  const double lost = idle + later;
  const double step = rank.undisturbed_step_ns();
  Finding finding = make_finding(kMemoryAllocationRule, lost, step,
                                 "Allocating and freeing memory leaves the GPU idle for " + time_text(lost) +
                                     " a step (" + format_percent(lost / step) + ")");
  finding.evidence = {
      time_fact("allocation_idle_per_step", "GPU idle because of allocation calls, per step", idle),
      time_fact("allocation_lost_lead_per_step", "Further idle time that would go with them, per step", later),
      count_fact("allocation_calls_per_step", "Allocation and free calls per step", calls / rank.step_count()),
      time_fact("allocation_host_per_step", "Host time in them, per step", time / rank.step_count()),
  };
  advise(evidence, {kCachingAllocator, kKeepCache, kAllocateInOrder, kKeepPool}, finding);
  show_idle(rank, {Part::idle_allocation}, finding);
  return {finding};
}

void change(const Evidence&, double success, Change& change) {
  for (WhatIf& one : change.ranks) {
    one.host_scale[kAllocation] *= 1 - success;
    one.drop_wait[kAllocation] = true;
  }
}

}  // namespace

constinit const Rule kMemoryAllocationRule = {
    "memory_allocation", "memory_allocation", "Is memory allocated within the step?", Need::gpu_work, apply, change,
    {1.0, 0.05}};

}  // namespace warpmark::analyze
