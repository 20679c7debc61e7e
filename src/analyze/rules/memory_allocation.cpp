// Device memory is allocated or freed within the step: each cudaMalloc takes the driver's lock, each cudaFree waits for
// the GPU. A caching or stream-ordered allocator does neither in steady state.
#include <algorithm>

#include "analyze/names/api_calls.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr Advice kCachingAllocator = {
    .kind = AdviceKind::environment,
    .text = "Leave the caching allocator on, and let it keep what it has.",
    .pytorch = "unset PYTORCH_NO_CUDA_MEMORY_CACHING; export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    .jax = "unset XLA_PYTHON_CLIENT_ALLOCATOR XLA_PYTHON_CLIENT_PREALLOCATE",
    .cupy = "# remove cupy.cuda.set_allocator(None), and limits of the pool (CUPY_GPU_MEMORY_LIMIT)",
};
constexpr Advice kKeepCache = {
    .kind = AdviceKind::code,
    .text = "Do not empty the cache within the loop; it frees what the next step allocates again.",
    .pytorch = "# remove torch.cuda.empty_cache() from the loop",
    .cupy = "# remove cupy.get_default_memory_pool().free_all_blocks() from the loop",
};
// "Stream Ordered Memory Allocator" of the CUDA C++ Programming Guide: an allocation is an operation of its stream, and
// a pool gives memory back at every synchronization unless its release threshold says otherwise.
constexpr Advice kAllocateInOrder = {
    .kind = AdviceKind::code,
    .text =
        "Allocate before the loop, or from a pool in stream order: cudaMalloc takes the driver's lock, cudaFree waits "
        "for "
        "the GPU.",
    .native = "cudaMallocAsync(&pointer, bytes, stream);\ncudaFreeAsync(pointer, stream);",
};
constexpr Advice kKeepPool = {
    .kind = AdviceKind::code,
    .text = "Let the pool keep its memory when the host synchronizes.",
    .native =
        "std::uint64_t keep = UINT64_MAX;\n"
        "cudaDeviceGetDefaultMemPool(&pool, device);\n"
        "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);",
};

constexpr Advice kReusePinned = {
    .kind = AdviceKind::code,
    .text = "Keep page-locked buffers and copy into them: to lock and unlock pages takes the driver as long each time.",
    .native = "cudaMallocHost(&staging, bytes);  // once, before the loop",
    .pytorch = "staging = torch.empty(shape, pin_memory=True)  # once; in the loop: staging.copy_(batch)",
};

std::vector<Finding> apply_memory_allocation(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  double calls = 0;
  double time = 0, locking = 0, mapping = 0;
  for (const BlockingCall& call : rank.host->blocking_calls()) {
    if (call.cause != HostCause::allocation || call.end < rank.steps.start() || call.start >= rank.steps.end())
      continue;
    calls += 1;
    const auto length = static_cast<double>(call.end - call.start);
    const std::string_view name = rank.timeline->name_of(call.event);
    time += length;
    if (is_host_memory_call(name)) locking += length;
    if (is_mapping_call(name)) mapping += length;
  }
  const double idle = rank.part_ns(Part::idle_allocation);
  if (calls == 0 || idle <= 0) return {};
  const double lost = evidence.attribution.lost_ns(AttributedTo::memory_allocation);
  const double step = rank.undisturbed_step_ns();
  Finding finding = make_finding(kMemoryAllocationRule, lost, step,
                                 "Allocating and freeing memory leaves the GPU idle for " + time_text(lost) +
                                     " per step (" + format_percent(lost / step) + ")");
  finding.evidence = {
      time_fact("allocation_idle_per_step", "GPU idle because of allocation calls, per step", idle),
      count_fact("allocation_calls_per_step", "Allocation and free calls per step", calls / rank.step_count()),
      time_fact("allocation_host_per_step", "Host time in them, per step", time / rank.step_count()),
  };
  if (2 * locking > time) {
    advise(evidence, {kReusePinned}, finding);
  } else if (2 * mapping > time) {  // by an allocator that keeps what it has
    advise(evidence, {kKeepCache, kAllocateInOrder}, finding);
  } else {
    advise(evidence, {kCachingAllocator, kKeepCache, kAllocateInOrder, kKeepPool}, finding);
  }
  show_idle(rank, {Part::idle_allocation}, finding);
  return {finding};
}

void change_memory_allocation(const Evidence& evidence, double success, Change& change) {
  drop_allocations(evidence, success, change);
}

}  // namespace

constinit const Rule kMemoryAllocationRule = {
    "memory_allocation", "memory_allocation",     "Is memory allocated within the step?",
    Need::gpu_work,      apply_memory_allocation, change_memory_allocation};

}  // namespace warpmark::analyze
