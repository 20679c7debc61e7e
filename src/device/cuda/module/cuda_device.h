// The CUDA device: memory, one stream, and timing by events.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda/module/blocking_kernel.h"
#include "device/device.h"

namespace warpmark::device {

/// A CUDA stream as the runtime's type.
[[nodiscard]] inline cudaStream_t cuda_stream(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

[[nodiscard]] Support cuda_available();
[[nodiscard]] Result<std::vector<DeviceInfo>> cuda_devices();
[[nodiscard]] Result<std::unique_ptr<Device>> open_cuda_device(int index);

/// Facts about one device, without creating a context on it.
[[nodiscard]] Result<DeviceInfo> cuda_device_info(int index);

/// Calls come from one thread; each makes the device current for that thread.
class CudaDevice final : public Device {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Device>> open(int index);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] TimerInfo timer(const SequenceOptions& options) const override;
  [[nodiscard]] Stream stream() const override { return {stream_}; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  Result<std::int64_t> free_memory() override;
  Status write(Buffer& to, std::size_t offset, std::span<const std::byte> bytes) override;
  Status read(const Buffer& from, std::size_t offset, std::span<std::byte> bytes) override;
  Status fill(Buffer& buffer, std::size_t offset, std::size_t bytes, unsigned char value) override;
  Status synchronize() override;
  Result<std::unique_ptr<TimedSequence>> sequence(Launchable& work, const SequenceOptions& options) override;
  Result<Conditions> conditions() override;

 private:
  CudaDevice(int index, DeviceInfo info) : index_(index), info_(std::move(info)) {}
  Status create_stream();
  Status measure_timers();

  int index_;
  DeviceInfo info_;
  cudaStream_t stream_ = nullptr;
  TimerInfo event_timer_;
  TimerInfo graph_timer_;
  TimerInfo host_timer_;
};

}  // namespace warpmark::device
