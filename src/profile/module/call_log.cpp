#include "profile/module/call_log.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "profile/module/blocked_time.h"
#include "profile/module/ranges.h"
#include "profile/module/recorder.h"
#include "profile/module/unix_clock.h"

namespace warpmark::profile::module {
namespace {

constexpr CUpti_CallbackId kLaunchCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
};

constexpr CUpti_CallbackId kOtherCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2D_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2DAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyToSymbol_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyFromSymbol_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocHost_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020,
};

constexpr CUpti_CallbackId kDriverLaunches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

// XLA, Triton and others call the driver themselves.
constexpr CUpti_CallbackId kOtherDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
    CUPTI_DRIVER_TRACE_CBID_cuMemAddressReserve,
    CUPTI_DRIVER_TRACE_CBID_cuMemAddressFree,
    CUPTI_DRIVER_TRACE_CBID_cuMemSetAccess,
    CUPTI_DRIVER_TRACE_CBID_cuMemMap,
    CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
    CUPTI_DRIVER_TRACE_CBID_cuMemRelease,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,
};

constexpr CUpti_CallbackId kProfilerCalls[] = {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000};
constexpr CUpti_CallbackId kDriverProfilerCalls[] = {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
                                                     CUPTI_DRIVER_TRACE_CBID_cuProfilerStop};

bool is_among(std::span<const CUpti_CallbackId> calls, CUpti_CallbackId id) {
  return std::find(calls.begin(), calls.end(), id) != calls.end();
}

std::int64_t processor_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/// The call that this thread is in. Callbacks are switched on and off while calls are under way, so that either end of
/// one may be missing: what CUPTI keeps for the two ends of a call is not relied on.
struct OpenCall {
  std::int64_t start_ns = 0;
  std::uint32_t correlation = 0;
  bool runtime = false;
  bool open = false;
  bool has_stack = false;
  BlockedTime::Gap before = {};
  BlockedTime blocked = {};
};

OpenCall& open_call() {
  thread_local OpenCall call;
  return call;
}

/// The program marks its part: from the end of the one call to the beginning of the other. The runtime's calls the
/// driver's, of which one is enough.
void on_profiler_call(ProfilerCall call, bool enters, bool runtime) {
  Capture& capture = Capture::instance();
  thread_local bool in_runtime = false;
  if (runtime) in_runtime = enters;
  if (!capture.is_of_profiler_calls() || (!runtime && in_runtime)) return;
  if (call == ProfilerCall::start && !enters) capture.begins();
  if (call == ProfilerCall::stop && enters) capture.ends();
}

}  // namespace

CallRing& CallLog::ring_of_this_thread() {
  thread_local CallRing* ring = nullptr;  // there is one log in a process
  if (ring == nullptr) {
    auto made = std::make_unique<CallRing>(syscall(SYS_gettid));
    ring = made.get();
    const std::lock_guard lock(mutex_);
    rings_.push_back(std::move(made));
  }
  return *ring;
}

void CallLog::add(const CallRecord& record) {
  if (!ring_of_this_thread().push(record)) lost_.fetch_add(1, std::memory_order_relaxed);
}

std::span<const CUpti_CallbackId> launch_calls() { return kLaunchCalls; }
std::span<const CUpti_CallbackId> other_calls() { return kOtherCalls; }
std::span<const CUpti_CallbackId> driver_launches() { return kDriverLaunches; }
std::span<const CUpti_CallbackId> other_driver_calls() { return kOtherDriverCalls; }

std::span<const CUpti_CallbackId> profiler_calls() { return kProfilerCalls; }
std::span<const CUpti_CallbackId> driver_profiler_calls() { return kDriverProfilerCalls; }

ProfilerCall profiler_call(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const auto& calls = domain == CUPTI_CB_DOMAIN_DRIVER_API ? kDriverProfilerCalls : kProfilerCalls;
  return id == calls[0] ? ProfilerCall::start : id == calls[1] ? ProfilerCall::stop : ProfilerCall::none;
}

bool is_launch(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API ? is_among(kDriverLaunches, id) : is_among(kLaunchCalls, id);
}

std::uint64_t what_is_launched(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (call.functionParams == nullptr) return id;
  const bool second =
      domain == CUPTI_CB_DOMAIN_DRIVER_API
          ? id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx || id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz
          : id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060 ||
                id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060;  // after the sizes
  std::uint64_t handle = 0;  // the first or second argument of every launch is a pointer
  std::memcpy(&handle, static_cast<const char*>(call.functionParams) + (second ? sizeof handle : 0), sizeof handle);
  return handle ^ (static_cast<std::uint64_t>(id) << 48U);
}

Recorder*& current_recorder() {
  static Recorder* recorder = nullptr;
  return recorder;
}

void CUPTIAPI on_call(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (const ProfilerCall marks = profiler_call(domain, id); marks != ProfilerCall::none) {
    return on_profiler_call(marks, call.callbackSite == CUPTI_API_ENTER, runtime);
  }
  OpenCall& own = open_call();
  if (!runtime && own.open && own.runtime) return;  // the runtime launches through the driver: one of the two is enough
  if (call.callbackSite == CUPTI_API_ENTER) {
    own.start_ns = unix_ns();
    own.correlation = call.correlationId;
    own.runtime = runtime;
    own.open = true;
    if (!current_recorder()->is_logging()) own.blocked = {};  // what lies between two windows is no gap
    own.before =
        current_recorder()->is_logging() ? own.blocked.call_begins(own.start_ns, processor_ns) : BlockedTime::Gap{};
    const bool launches = is_launch(domain, id);
    if (launches) current_recorder()->launches(what_is_launched(domain, id, call), own.start_ns);
    own.has_stack = current_recorder()->stacks_of_calls().enters(launches, own.start_ns) && !launches;
  } else if (own.open && own.runtime == runtime && own.correlation == call.correlationId) {
    own.open = false;
    const std::int64_t end_ns = unix_ns();
    if (own.has_stack) current_recorder()->stacks_of_calls().leaves(end_ns);
    if (!current_recorder()->is_logging()) return;
    const BlockedTime::Gap& gap = own.before;
    current_recorder()->call_ends(
        {own.start_ns, end_ns, id, call.correlationId, runtime, gap.length_ns, gap.blocked_ns});
    own.blocked.call_ends(own.start_ns, end_ns, processor_ns);
  } else {
    own.open = false;
  }
}

}  // namespace warpmark::profile::module
