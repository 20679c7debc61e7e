// CUPTI for tests: enough of CUPTI's activity and callback interfaces to play a program's calls and GPU work to
// the recorder. As the real one it calls back while it holds a lock of its own, delivers only work that is finished,
// and drops records when it is given no buffer.
//
// MOCK_CUPTI_REFUSE makes it behave as if another profiler held it: "callbacks" of buffers, "subscribe", or "enable".
// MOCK_CUPTI_COST_NS is what recording a kernel costs the program, per launch.
#include "mock_cupti/mock_cupti.h"

#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "profile/module/unix_clock.h"

namespace {

struct State {
  std::mutex mutex;
  std::set<int> kinds;
  std::set<std::pair<int, std::uint32_t>> calls;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc clock = nullptr;
  std::vector<MockWork> running;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::size_t dropped = 0;
  bool kept = false;  ///< a flush has found something that still runs
};

State& state() {
  static State* instance = new State;  // CUPTI may be called until the very end of a program
  return *instance;
}

std::uint64_t now_ns() {
  if (state().clock != nullptr) return state().clock();
  return static_cast<std::uint64_t>(warpmark::profile::unix_ns());
}

void hand_over() {
  State& s = state();
  if (s.buffer == nullptr) return;
  s.complete(nullptr, 0, s.buffer, s.size, s.used);
  s.buffer = nullptr;
  s.used = 0;
}

template <typename Record>
void store(const Record& record) {
  State& s = state();
  if (s.buffer != nullptr && s.used + sizeof record > s.size) hand_over();
  if (s.buffer == nullptr) {
    std::size_t most = 0;
    s.request(&s.buffer, &s.size, &most);
    s.used = 0;
  }
  if (s.buffer == nullptr || s.size < sizeof record) {
    ++s.dropped;
    return;
  }
  std::memcpy(s.buffer + s.used, &record, sizeof record);
  s.used += sizeof record;
}

void store_allocation(const MockWork& work) {
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = work.kind == MockWork::Kind::allocation ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                                       : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.correlationId = work.correlation;
  record.bytes = work.bytes;
  record.timestamp = work.start_ns;
  store(record);
}

void store_wait(const MockWork& work) {
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.correlationId = work.correlation;
  record.streamId = 0xFFFFFFFFU;
  store(record);
}

void store_work(const MockWork& work) {
  switch (work.kind) {
    case MockWork::Kind::kernel: {
      CUpti_ActivityKernel10 record{};
      record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      record.name = work.name;
      record.start = work.start_ns;
      record.end = work.end_ns;
      record.streamId = work.stream;
      record.correlationId = work.correlation;
      record.gridX = work.grid;
      record.gridY = record.gridZ = 1;
      record.blockX = work.block;
      record.blockY = record.blockZ = 1;
      record.registersPerThread = 32;
      return store(record);
    }
    case MockWork::Kind::copy_to_device: {
      CUpti_ActivityMemcpy6 record{};
      record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
      record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
      record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      record.start = work.start_ns;
      record.end = work.end_ns;
      record.streamId = work.stream;
      record.correlationId = work.correlation;
      record.bytes = work.bytes;
      return store(record);
    }
    case MockWork::Kind::memset: {
      CUpti_ActivityMemset4 record{};
      record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
      record.start = work.start_ns;
      record.end = work.end_ns;
      record.streamId = work.stream;
      record.correlationId = work.correlation;
      record.bytes = work.bytes;
      return store(record);
    }
    case MockWork::Kind::allocation:
    case MockWork::Kind::release: return store_allocation(work);
    case MockWork::Kind::wait: return store_wait(work);
  }
}

/// Records of what is finished by now, or of everything.
void store_finished(bool all) {
  State& s = state();
  const std::uint64_t now = now_ns();
  std::vector<MockWork> still;
  for (const auto& work : s.running) {
    if (all || work.end_ns <= now) {
      store_work(work);
    } else {
      still.push_back(work);
    }
  }
  s.running.swap(still);
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    default: return sizeof(CUpti_ActivityMemset4);
  }
}

CUpti_ActivityKind kind_of(MockWork::Kind kind) {
  switch (kind) {
    case MockWork::Kind::kernel: return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case MockWork::Kind::copy_to_device: return CUPTI_ACTIVITY_KIND_MEMCPY;
    case MockWork::Kind::memset: return CUPTI_ACTIVITY_KIND_MEMSET;
    case MockWork::Kind::allocation:
    case MockWork::Kind::release: return CUPTI_ACTIVITY_KIND_MEMORY2;
    case MockWork::Kind::wait: return CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  }
  return CUPTI_ACTIVITY_KIND_INVALID;
}

/// Whether another profiler holds this part of CUPTI.
bool refuses(const char* part) {
  const char* refuse = std::getenv("MOCK_CUPTI_REFUSE");
  return refuse != nullptr && std::strcmp(refuse, part) == 0;
}

void spend(std::uint64_t duration_ns) {
  const std::uint64_t end = now_ns() + duration_ns;
  while (now_ns() < end) {
  }
}

void call_back(const MockCall& call, CUpti_ApiCallbackSite site) {
  static thread_local std::uint64_t correlation_data = 0;
  if (site == CUPTI_API_ENTER) correlation_data = 0;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  const auto domain = call.runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  {
    const std::lock_guard lock(state().mutex);
    if (!state().calls.contains({domain, call.id})) return;
    callback = state().callback;
    user = state().user;
  }
  if (callback == nullptr) return;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.correlationId = call.correlation;
  data.correlationData = &correlation_data;
  const void* const arguments[] = {call.kernel};
  data.functionParams = arguments;
  callback(user, domain, call.id, &data);
}

}  // namespace

void mock_cupti_enter(const MockCall* call) { call_back(*call, CUPTI_API_ENTER); }
void mock_cupti_exit(const MockCall* call) { call_back(*call, CUPTI_API_EXIT); }

void mock_cupti_work(const MockWork* work) {
  const char* cost = std::getenv("MOCK_CUPTI_COST_NS");
  {
    const std::lock_guard lock(state().mutex);
    if (!state().kinds.contains(kind_of(work->kind))) return;
    state().running.push_back(*work);
    if (state().running.size() > 4096) store_finished(false);
  }
  if (cost != nullptr && work->kind == MockWork::Kind::kernel) spend(static_cast<std::uint64_t>(std::atoll(cost)));
}

// The rest has the names and signatures of cupti.h.

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (refuses("enable")) return CUPTI_ERROR_NOT_COMPATIBLE;
  const std::lock_guard lock(state().mutex);
  state().kinds.insert(kind);
  state().kept = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (refuses("callbacks")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const std::lock_guard lock(state().mutex);
  state().request = request;
  state().complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  const std::lock_guard lock(state().mutex);
  *dropped = state().dropped;
  return CUPTI_SUCCESS;
}

/// MOCK_CUPTI_LATE: something still runs when recording is switched off, so that CUPTI keeps its buffer until the flush
/// after the next.
CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  const std::lock_guard lock(state().mutex);
  const bool late = flag == 0 && state().kinds.empty() && std::getenv("MOCK_CUPTI_LATE") != nullptr;
  if (late && !std::exchange(state().kept, true)) return CUPTI_SUCCESS;
  store_finished((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  hand_over();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  state().clock = clock;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  const std::lock_guard lock(state().mutex);
  if (refuses("subscribe") || state().callback != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  state().callback = callback;
  state().user = user;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&state());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  const std::lock_guard lock(state().mutex);
  if (enable != 0) {
    state().calls.insert({domain, id});
  } else {
    state().calls.erase({domain, id});
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    *name = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel         ? "cuLaunchKernel"
            : id == CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2 ? "cuMemcpyHtoDAsync_v2"
            : id == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize     ? "cuCtxSynchronize"
                                                                 : "cuCall";
  } else if (id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) {
    *name = "cudaLaunchKernel_v7000";
  } else if (id == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020) {
    *name = "cudaMemcpyAsync_v3020";
  } else if (id == CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020) {
    *name = "cudaDeviceSynchronize_v3020";
  } else if (id == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020) {
    *name = "cudaMalloc_v3020";
  } else {
    *name = "cudaCall_v1";
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
