// launch: what it costs to start work on the GPU.
//   kernel  one empty kernel, from the call until the host knows that it has ended (the host's clock)
//   rate    time between empty kernels enqueued back to back, on the device (its inverse is the launch rate)
//   event   recording an event and polling it until it has happened (the host's clock)
//   graph   replay of a captured chain of kGraphKernels empty kernels, from the call until complete (the host's clock)
#include <fmt/format.h>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/launch/launch_kernels.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

constexpr int kGraphKernels = 32;

enum class Kind { kernel, rate, event, graph };

class PreparedLaunch final : public measure::Prepared {
 public:
  PreparedLaunch(device::Device& device, Kind kind) : device_(device), kind_(kind) {}

  Status create() {
    const cudaStream_t stream = cuda_stream(device_.stream());
    WM_TRY(event_.create(cudaEventDisableTiming));
    WM_CUDA(launch_empty(stream));
    WM_TRY(device_.synchronize());
    return kind_ == Kind::graph ? capture(stream) : Status{};
  }

  Status launch(device::Stream stream, std::size_t) override {
    switch (kind_) {
      case Kind::kernel:
      case Kind::rate: WM_CUDA(launch_empty(cuda_stream(stream))); break;
      case Kind::event: return record_and_poll(cuda_stream(stream));
      case Kind::graph: WM_CUDA(cudaGraphLaunch(executable_.handle, cuda_stream(stream))); break;
    }
    return {};
  }

  Status poison() override { return {}; }  // there are no outputs

  /// An empty kernel leaves nothing behind but its status.
  Result<ErrorCheck> check(std::size_t) override {
    const bool failed = !device_.synchronize().ok();
    return ErrorCheck{.value = failed ? 1.0 : 0.0,
                      .tolerance = 0,
                      .norm = "launches that reported an error",
                      .reference = "CUDA's status after the last launch"};
  }

  [[nodiscard]] bool host_clock() const override { return kind_ != Kind::rate; }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    switch (kind_) {
      case Kind::kernel: return {{"work", "one empty kernel, from the call until the host sees it complete"}};
      case Kind::rate: return {{"work", "one empty kernel among others queued ahead, time on the device"}};
      case Kind::event: return {{"work", "one event recorded and polled until it has happened"}};
      case Kind::graph: break;
    }
    return {{"work", fmt::format("replay of a graph of {} empty kernels in a chain, until complete", kGraphKernels)}};
  }

 private:
  Status capture(cudaStream_t stream) {
    WM_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaError_t launched = cudaSuccess;
    for (int i = 0; i < kGraphKernels && launched == cudaSuccess; ++i) launched = launch_empty(stream);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph_.handle);
    WM_TRY(device::cuda_status(launched, "launch of an empty kernel into a graph"));
    WM_TRY(device::cuda_status(ended, "cudaStreamEndCapture"));
    std::size_t nodes = 0;
    WM_CUDA(cudaGraphGetNodes(graph_.handle, nullptr, &nodes));
    WM_CHECK(nodes == kGraphKernels);
    WM_CUDA(cudaGraphInstantiate(&executable_.handle, graph_.handle, 0));
    WM_CUDA(cudaGraphUpload(executable_.handle, stream));
    return device_.synchronize();
  }

  Status record_and_poll(cudaStream_t stream) {
    WM_CUDA(cudaEventRecord(event_.get(), stream));
    cudaError_t state = cudaEventQuery(event_.get());
    while (state == cudaErrorNotReady) state = cudaEventQuery(event_.get());  // ends with the stream's empty queue
    return device::cuda_status(state, "cudaEventQuery");
  }

  device::Device& device_;
  Kind kind_;
  device::Event event_;
  device::Graph graph_;
  device::GraphExecutable executable_;
};

device::Support supports_launch(const DeviceInfo&, const Params& params) {
  const std::string& kind = params.text("kind");
  if (kind == "kernel" || kind == "rate" || kind == "event" || kind == "graph") return device::Support::yes();
  return device::Support::no(fmt::format("kind={} is a measurement of the CPU", kind),
                             "choose kind=kernel, rate, event or graph");
}

Result<std::unique_ptr<measure::Prepared>> prepare_launch(const measure::PrepareOptions& options) {
  const std::string& text = options.params.text("kind");
  const Kind kind = text == "rate"    ? Kind::rate
                    : text == "event" ? Kind::event
                    : text == "graph" ? Kind::graph
                                      : Kind::kernel;
  auto prepared = std::make_unique<PreparedLaunch>(options.device, kind);
  WM_TRY(prepared->create());
  return {std::move(prepared)};
}

}  // namespace

extern const CudaImplementation kCudaLaunch{"launch", supports_launch, prepare_launch};

}  // namespace warpmark::workloads
