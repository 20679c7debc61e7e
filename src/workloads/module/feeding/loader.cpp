// loader for a GPU: batches are brought to it on a stream of their own, from page-locked or from ordinary memory. The
// driver stages ordinary memory on the calling thread, so that the copy is no longer behind anything.

#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/feeding/loading.h"
#include "workloads/module/device_arrays.h"

namespace warpmark::workloads {
namespace {

/// A batch on both sides.
struct Slot {
  device::PinnedMemory pinned;
  std::vector<std::byte> pageable;
  std::unique_ptr<device::Buffer> on_device;
  device::Event begin, end;
};

class BatchCopiesToGpu final : public BatchCopies {
 public:
  BatchCopiesToGpu(device::Device& device, bool pinned) : device_(device), pinned_(pinned) {}

  Status allocate(std::size_t slots, std::size_t bytes) override {
    bytes_ = bytes;
    WM_TRY(require_memory(device_, {.sets = slots, .set_bytes = static_cast<double>(bytes)}));
    WM_TRY(stream_.create());
    for (std::size_t i = 0; i < slots; ++i) {
      Slot& slot = slots_.emplace_back();
      if (pinned_) {
        WM_TRY(slot.pinned.create(bytes));
      } else {
        slot.pageable.resize(bytes);
      }
      WM_ASSIGN(slot.on_device, device_.allocate(bytes));
      WM_TRY(slot.begin.create(cudaEventDefault));
      WM_TRY(slot.end.create(cudaEventDefault));
    }
    return {};
  }

  std::span<std::byte> slot(std::size_t index) override {
    Slot& slot = slots_[index];
    return pinned_ ? std::span(static_cast<std::byte*>(slot.pinned.data()), bytes_) : std::span(slot.pageable);
  }

  Status launch(device::Stream /*stream*/, std::size_t index) override {
    Slot& slot = slots_[index];
    WM_CUDA(cudaEventRecord(slot.begin.get(), stream_.get()));
    WM_CUDA(cudaMemcpyAsync(slot.on_device->data(), this->slot(index).data(), bytes_, cudaMemcpyHostToDevice,
                            stream_.get()));
    WM_CUDA(cudaEventRecord(slot.end.get(), stream_.get()));
    return {};
  }

  Result<double> wait(std::size_t index) override {
    Slot& slot = slots_[index];
    WM_CUDA(cudaEventSynchronize(slot.end.get()));
    float milliseconds = 0;
    WM_CUDA(cudaEventElapsedTime(&milliseconds, slot.begin.get(), slot.end.get()));
    return static_cast<double>(milliseconds) * 1e-3;
  }

  Status poison() override {
    for (Slot& slot : slots_) WM_TRY(device_.fill(*slot.on_device, 0, bytes_, 0xFF));
    return {};
  }

  Result<ErrorCheck> check(std::size_t index) override {
    std::vector<std::byte> received(bytes_);
    WM_TRY(device_.read(*slots_[index].on_device, 0, received));
    const std::span<const std::byte> sent = slot(index);
    double different = 0;
    for (std::size_t i = 0; i < bytes_; ++i) different += received[i] == sent[i] ? 0 : 1;
    return ErrorCheck{different, 0, "bytes that differ", "the batch in the host's memory"};
  }

 private:
  device::Device& device_;
  bool pinned_;
  std::size_t bytes_ = 0;
  device::OwnedStream stream_;
  std::vector<Slot> slots_;
};

Result<std::unique_ptr<measure::Prepared>> prepare_loader(const measure::PrepareOptions& options) {
  const bool pinned = options.params.text("memory") == "pinned";
  return std::unique_ptr<measure::Prepared>(std::make_unique<BatchCopiesToGpu>(options.device, pinned));
}

device::Support supports_loader(const DeviceInfo& /*device*/, const Params& /*params*/) {
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaLoader{"loader", supports_loader, prepare_loader};

}  // namespace warpmark::workloads
