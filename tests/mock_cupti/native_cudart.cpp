// The calls of CUDA's runtime that native_program.cpp makes, in a library of their own as the real ones are; they pass
// through the pretended CUPTI.
#include "mock_cupti/native_cudart.h"

#include <cupti_runtime_cbid.h>

#include <chrono>
#include <thread>

#include "mock_cupti/mock_cupti.h"
#include "profile/module/unix_clock.h"

namespace {

std::uint32_t correlation = 0;
std::uint64_t free_at_ns = 0;

std::uint64_t now_ns() { return static_cast<std::uint64_t>(warpmark::profile::unix_ns()); }

}  // namespace

void played_launch(const char* kernel, std::uint64_t duration_ns) {
  const MockCall call{true, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, ++correlation, kernel};
  mock_cupti_enter(&call);
  const std::uint64_t start = now_ns() + 20'000 > free_at_ns ? now_ns() + 20'000 : free_at_ns;
  free_at_ns = start + duration_ns;
  const MockWork work{.name = kernel, .start_ns = start, .end_ns = free_at_ns, .correlation = call.correlation};
  mock_cupti_work(&work);
  mock_cupti_exit(&call);
}

void played_synchronize() {
  const MockCall call{true, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, ++correlation};
  mock_cupti_enter(&call);
  while (now_ns() < free_at_ns) std::this_thread::sleep_for(std::chrono::microseconds(50));
  mock_cupti_exit(&call);
}
