// CUPTI as far as the recorder uses it, without a GPU: records and callbacks come from mock_cupti_launch. Fills buffers
// and hands them back as CUPTI does: when they are full, and when it is told to flush.
#include "mock_cupti/mock_cupti.h"

#include <cupti.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

namespace {

struct State {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_CallbackFunc callback = nullptr;
  std::set<int> kinds;
  std::set<std::pair<int, int>> calls;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::uint32_t correlation = 0;
  std::uint64_t gpu_free_at = 0;
};

State& state() {
  static State instance;
  return instance;
}

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

void hand_back() {
  State& mock = state();
  if (mock.buffer == nullptr) return;
  std::uint8_t* const buffer = mock.buffer;
  mock.buffer = nullptr;
  mock.complete(nullptr, 0, buffer, mock.size, mock.used);
}

void append(const CUpti_ActivityKernel10& record) {
  State& mock = state();
  if (mock.buffer != nullptr && mock.used + sizeof record > mock.size) hand_back();
  if (mock.buffer == nullptr) {
    std::size_t most = 0;
    mock.request(&mock.buffer, &mock.size, &most);
    mock.used = 0;
  }
  std::memcpy(mock.buffer + mock.used, &record, sizeof record);
  mock.used += sizeof record;
}

void call(CUpti_CallbackId id, CUpti_ApiCallbackSite site, std::uint64_t* data, std::uint32_t correlation) {
  State& mock = state();
  if (mock.callback == nullptr || !mock.calls.contains({CUPTI_CB_DOMAIN_RUNTIME_API, static_cast<int>(id)})) return;
  CUpti_CallbackData info{};
  info.callbackSite = site;
  info.correlationData = data;
  info.correlationId = correlation;
  mock.callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, id, &info);
}

}  // namespace

extern "C" {

void mock_cupti_launch(const char* kernel, std::uint64_t kernel_ns) {
  State& mock = state();
  const std::uint32_t correlation = ++mock.correlation;
  std::uint64_t data = 0;
  call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_API_ENTER, &data, correlation);
  call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_API_EXIT, &data, correlation);
  const std::lock_guard lock(mock.mutex);
  const std::uint64_t start = std::max(now_ns(), mock.gpu_free_at);
  mock.gpu_free_at = start + kernel_ns;
  if (!mock.kinds.contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = start;
  record.end = start + kernel_ns;
  record.streamId = 7;
  record.gridX = 132;
  record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  record.blockX = 256;
  record.correlationId = correlation;
  record.name = kernel;
  append(record);
}

void mock_cupti_synchronize() {
  std::uint64_t data = 0;
  const std::uint32_t correlation = ++state().correlation;
  call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, CUPTI_API_ENTER, &data, correlation);
  while (now_ns() < state().gpu_free_at) {
  }
  call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, CUPTI_API_EXIT, &data, correlation);
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  state().request = request;
  state().complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  auto* const next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
  if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(state().mutex);
  hand_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) { return CUPTI_SUCCESS; }
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void*) {
  state().callback = callback;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&state());
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  state().callback = nullptr;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  const std::lock_guard lock(state().mutex);
  if (enable != 0) {
    state().calls.insert({domain, static_cast<int>(id)});
  } else {
    state().calls.erase({domain, static_cast<int>(id)});
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t id, const char** name) {
  *name =
      id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 ? "cudaLaunchKernel_v7000" : "cudaDeviceSynchronize_v3020";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

}  // extern "C"
