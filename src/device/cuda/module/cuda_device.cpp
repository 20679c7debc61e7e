#include "device/cuda/module/cuda_device.h"

#include <fmt/format.h>

#include "device/cpu/proc.h"
#include "device/cuda/module/cuda_check.h"
#include "device/cuda/module/cuda_sequence.h"
#include "device/nvml/nvml.h"

namespace warpmark::device {
namespace {

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(void* data, std::size_t size) : Buffer(data, size) {}
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  ~CudaBuffer() override { (void)cudaFree(data()); }  // knows its device by the address
};

Status check_range(const Buffer& buffer, std::size_t offset, std::size_t bytes) {
  if (offset <= buffer.size() && bytes <= buffer.size() - offset) return {};
  return internal_error(fmt::format("{} bytes at {} are outside a buffer of {}", bytes, offset, buffer.size()));
}

std::byte* at(const Buffer& buffer, std::size_t offset) { return static_cast<std::byte*>(buffer.data()) + offset; }

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(int index) { return CudaDevice::open(index); }

Result<std::unique_ptr<Device>> CudaDevice::open(int index) {
  int count = 0;
  WM_CUDA(cudaGetDeviceCount(&count));
  if (index < 0 || index >= count) {
    return usage_error(fmt::format("there is no cuda:{}: this machine shows {} CUDA device(s)", index, count));
  }
  WM_ASSIGN(auto info, cuda_device_info(index));
  std::unique_ptr<CudaDevice> device(new CudaDevice(index, std::move(info)));
  WM_TRY(device->create_stream());
  WM_TRY(device->measure_timers());
  return {std::move(device)};
}

CudaDevice::~CudaDevice() {
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

Status CudaDevice::create_stream() {
  WM_CUDA(cudaSetDevice(index_));
  // Spinning finds completed work a few microseconds earlier than sleeping, and more evenly.
  WM_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  // Of highest priority: a workload's own helper streams must not overtake it. Non-blocking: not ordered after the
  // legacy stream.
  int least = 0;
  int greatest = 0;
  WM_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  WM_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest));
  return {};
}

Status CudaDevice::measure_timers() {
  const SequencePlace place{.device_index = index_, .stream = stream_};
  WM_ASSIGN(event_timer_, measure_cuda_timer({.mode = Mode::hot}, place));
  WM_ASSIGN(graph_timer_, measure_cuda_timer({.mode = Mode::graph}, place));
  WM_ASSIGN(host_timer_, measure_cuda_timer({.mode = Mode::hot, .host_clock = true}, place));
  return {};
}

TimerInfo CudaDevice::timer(const SequenceOptions& options) const {
  if (options.host_clock) return host_timer_;
  return options.mode == Mode::graph ? graph_timer_ : event_timer_;
}

Result<std::unique_ptr<Buffer>> CudaDevice::allocate(std::size_t bytes) {
  WM_CUDA(cudaSetDevice(index_));
  void* data = nullptr;
  const cudaError_t code = cudaMalloc(&data, bytes);
  if (code != cudaSuccess) return allocation_error(code, bytes);
  return {std::make_unique<CudaBuffer>(data, bytes)};
}

Result<std::int64_t> CudaDevice::free_memory() {
  WM_CUDA(cudaSetDevice(index_));
  std::size_t free = 0;
  std::size_t total = 0;
  WM_CUDA(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

Status CudaDevice::write(Buffer& to, std::size_t offset, std::span<const std::byte> bytes) {
  WM_TRY(check_range(to, offset, bytes.size()));
  WM_CUDA(cudaSetDevice(index_));
  WM_CUDA(cudaMemcpyAsync(at(to, offset), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_));
  return synchronize();
}

Status CudaDevice::read(const Buffer& from, std::size_t offset, std::span<std::byte> bytes) {
  WM_TRY(check_range(from, offset, bytes.size()));
  WM_CUDA(cudaSetDevice(index_));
  WM_CUDA(cudaMemcpyAsync(bytes.data(), at(from, offset), bytes.size(), cudaMemcpyDeviceToHost, stream_));
  return synchronize();
}

Status CudaDevice::fill(Buffer& buffer, std::size_t offset, std::size_t bytes, unsigned char value) {
  WM_TRY(check_range(buffer, offset, bytes));
  WM_CUDA(cudaSetDevice(index_));
  WM_CUDA(cudaMemsetAsync(at(buffer, offset), value, bytes, stream_));
  return synchronize();
}

Status CudaDevice::synchronize() {
  WM_CUDA(cudaSetDevice(index_));
  WM_CUDA(cudaStreamSynchronize(stream_));
  return {};
}

Result<std::unique_ptr<TimedSequence>> CudaDevice::sequence(Launchable& work, const SequenceOptions& options) {
  return make_cuda_sequence(work, options,
                            {.device_index = index_, .stream = stream_, .overhead_s = timer(options).overhead_s});
}

Result<Conditions> CudaDevice::conditions() {
  WM_ASSIGN(const std::int64_t free, free_memory());
  // Without NVML (a stripped container) the runtime's own view is all there is.
  auto from_nvml = nvml::conditions_of(info_.uuid);
  Conditions conditions = from_nvml.ok() ? std::move(from_nvml).value() : Conditions{};
  conditions.sensors.push_back({"gpu_memory_free", "B", static_cast<double>(free)});
  conditions.threads = read_thread_waits("/");  // a host that launches too late leaves the GPU idle
  return conditions;
}

}  // namespace warpmark::device
