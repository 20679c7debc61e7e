// What the pretended CUDA driver tells the pretended CUPTI: calls as they begin and end, and work of the GPU. Both
// stand in for NVIDIA's libraries in tests of the recorder on machines without a GPU.
#pragma once

#include <cstdint>

struct MockCall {
  bool runtime = true;   ///< of CUDA's runtime, else of its driver
  std::uint32_t id = 0;  ///< CUPTI's number of the call
  std::uint32_t correlation = 0;
  const void* kernel = nullptr;  ///< of a launch
};

struct MockWork {
  enum class Kind { kernel, copy_to_device, memset, allocation, release, wait } kind = Kind::kernel;
  const char* name = "";  ///< of a kernel; must live as long as the program
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t stream = 7;
  std::uint32_t correlation = 0;
  std::uint64_t bytes = 0;  ///< of copies, memsets, allocations and releases
  std::int32_t grid = 1;
  std::int32_t block = 128;
};

extern "C" {
void mock_cupti_enter(const MockCall* call);
void mock_cupti_exit(const MockCall* call);
void mock_cupti_work(const MockWork* work);
}
