#include "collectives/module/nccl_gpus.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "device/cuda/module/cuda_handles.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

/// A GPU with two buffers, as data goes both ways at once, and two streams.
struct LinkGpu {
  int device = 0;
  void* from = nullptr;
  void* to = nullptr;
  device::OwnedStream first;
  device::OwnedStream second;
  LinkGpu() = default;
  LinkGpu(const LinkGpu&) = delete;
  LinkGpu& operator=(const LinkGpu&) = delete;
  ~LinkGpu() {
    (void)cudaSetDevice(device);
    if (from != nullptr) (void)cudaFree(from);
    if (to != nullptr) (void)cudaFree(to);
  }
  Status open(int index, std::size_t bytes) {
    device = index;
    WM_CUDA(cudaSetDevice(device));
    WM_TRY(first.create());
    WM_TRY(second.create());
    if (const auto code = cudaMalloc(&from, bytes); code != cudaSuccess) return device::allocation_error(code, bytes);
    if (const auto code = cudaMalloc(&to, bytes); code != cudaSuccess) return device::allocation_error(code, bytes);
    WM_CUDA(cudaMemset(from, 1, bytes));
    WM_CUDA(cudaMemset(to, 2, bytes));
    WM_CUDA(cudaDeviceSynchronize());
    return {};
  }
};

/// One copy enqueued on a stream of `device`.
struct Copy {
  int device = 0;
  cudaStream_t stream = nullptr;
  std::function<cudaError_t(cudaStream_t)> enqueue;
};

Status wait_for(const std::vector<Copy>& copies) {
  for (const auto& copy : copies) WM_CUDA(cudaStreamSynchronize(copy.stream));
  return {};
}

/// Seconds of all copies together, from the first's begin to the last's end, by the host's clock where there are
/// several on several devices, whose events cannot be compared; by events where there is one.
Result<double> time_once(const std::vector<Copy>& copies) {
  if (copies.size() > 1) {
    const std::int64_t begin = monotonic_ns();
    for (const auto& copy : copies) {
      WM_CUDA(cudaSetDevice(copy.device));
      WM_CUDA(copy.enqueue(copy.stream));
    }
    WM_TRY(wait_for(copies));
    return static_cast<double>(monotonic_ns() - begin) * 1e-9;
  }
  const Copy& copy = copies.front();
  WM_CUDA(cudaSetDevice(copy.device));
  std::array<device::Event, 2> events;
  for (auto& event : events) WM_TRY(event.create(cudaEventDefault));
  WM_CUDA(cudaEventRecord(events[0].get(), copy.stream));
  WM_CUDA(copy.enqueue(copy.stream));
  WM_CUDA(cudaEventRecord(events[1].get(), copy.stream));
  WM_TRY(wait_for(copies));
  float milliseconds = 0;
  WM_CUDA(cudaEventElapsedTime(&milliseconds, events[0].get(), events[1].get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

Result<LinkValue> median_of(const std::vector<Copy>& copies, int repetitions,
                            const std::function<double(double)>& value_of) {
  std::vector<double> values;
  for (int i = 0; i < repetitions + 2; ++i) {
    WM_ASSIGN(const double seconds, time_once(copies));
    if (i >= 2) values.push_back(value_of(seconds));  // the first two warm up
  }
  const Summary summary = stats::summarize(values);
  return LinkValue{summary.median, summary.median_interval, std::move(values)};
}

class LinkMeasurement {
 public:
  explicit LinkMeasurement(const LinkOptions& options)
      : options_(options), bytes_(static_cast<std::size_t>(options.bytes)) {}

  Result<Links> run() {
    int count = 0;
    WM_CUDA(cudaGetDeviceCount(&count));
    for (int i = 0; i < count; ++i) {
      gpus_.push_back(std::make_unique<LinkGpu>());
      WM_TRY(gpus_.back()->open(i, bytes_));
    }
    WM_TRY(host_in_.create(bytes_));
    WM_TRY(host_out_.create(bytes_));
    Links links;
    for (int i = 0; i < count; ++i) {
      cudaDeviceProp properties{};
      std::array<char, 32> bus{};
      WM_CUDA(cudaGetDeviceProperties(&properties, i));
      WM_CUDA(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), i));
      links.gpus.push_back(fmt::format("{} {} [{}]", i, properties.name, bus.data()));
    }
    for (int from = 0; from < count; ++from) {
      WM_ASSIGN(auto host, host_link(from));
      links.hosts.push_back(std::move(host));
      for (int to = 0; to < count; ++to) {
        if (to == from) continue;
        WM_ASSIGN(auto pair, gpu_pair(from, to));
        links.pairs.push_back(std::move(pair));
      }
    }
    return links;
  }

 private:
  [[nodiscard]] LinkGpu& gpu(int index) const { return *gpus_[static_cast<std::size_t>(index)]; }

  [[nodiscard]] std::function<double(double)> rate(double directions) const {
    return [bytes = static_cast<double>(bytes_) * directions](double seconds) { return bytes / seconds; };
  }

  Result<GpuPair> gpu_pair(int from, int to) {
    GpuPair pair{from, to, false, {}, {}, {}, {}};
    int reaches = 0;
    WM_CUDA(cudaDeviceCanAccessPeer(&reaches, from, to));
    pair.peer = reaches != 0;
    if (pair.peer) WM_TRY(enable_peer(from, to));
    if (pair.peer) WM_TRY(enable_peer(to, from));
    LinkGpu& a = gpu(from);
    LinkGpu& b = gpu(to);
    const auto copy = [](LinkGpu& source, LinkGpu& target, std::size_t bytes) {
      return [&source, &target, bytes](cudaStream_t stream) {
        return cudaMemcpyPeerAsync(target.to, target.device, source.from, source.device, bytes, stream);
      };
    };
    WM_ASSIGN(pair.write, median_of({{from, a.first.get(), copy(a, b, bytes_)}}, options_.repetitions, rate(1)));
    WM_ASSIGN(pair.read, median_of({{to, b.first.get(), copy(a, b, bytes_)}}, options_.repetitions, rate(1)));
    WM_ASSIGN(pair.both, median_of({{from, a.first.get(), copy(a, b, bytes_)}, {to, b.first.get(), copy(b, a, bytes_)}},
                                   options_.repetitions, rate(2)));
    WM_ASSIGN(pair.latency, median_of({{from, a.first.get(), copy(a, b, 4)}}, 100, [](double s) { return s; }));
    return pair;
  }

  static Status enable_peer(int device, int other) {
    WM_CUDA(cudaSetDevice(device));
    const auto code = cudaDeviceEnablePeerAccess(other, 0);
    if (code != cudaErrorPeerAccessAlreadyEnabled) return device::cuda_status(code, "cudaDeviceEnablePeerAccess");
    (void)cudaGetLastError();
    return {};
  }

  Result<HostLink> host_link(int index) {
    HostLink link{index, {}, {}, {}, {}};
    LinkGpu& a = gpu(index);
    const auto in = [&](std::size_t bytes) {
      return [this, &a, bytes](cudaStream_t stream) {
        return cudaMemcpyAsync(a.to, host_in_.data(), bytes, cudaMemcpyHostToDevice, stream);
      };
    };
    const auto out = [&](std::size_t bytes) {
      return [this, &a, bytes](cudaStream_t stream) {
        return cudaMemcpyAsync(host_out_.data(), a.from, bytes, cudaMemcpyDeviceToHost, stream);
      };
    };
    WM_ASSIGN(link.to_gpu, median_of({{index, a.first.get(), in(bytes_)}}, options_.repetitions, rate(1)));
    WM_ASSIGN(link.from_gpu, median_of({{index, a.first.get(), out(bytes_)}}, options_.repetitions, rate(1)));
    WM_ASSIGN(link.both, median_of({{index, a.first.get(), in(bytes_)}, {index, a.second.get(), out(bytes_)}},
                                   options_.repetitions, rate(2)));
    WM_ASSIGN(link.latency, median_of({{index, a.first.get(), in(4)}}, 100, [](double s) { return s; }));
    return link;
  }

  const LinkOptions& options_;
  std::size_t bytes_;
  std::vector<std::unique_ptr<LinkGpu>> gpus_;
  device::PinnedMemory host_in_;
  device::PinnedMemory host_out_;
};

}  // namespace

Result<Links> measure_links(const LinkOptions& options) { return LinkMeasurement(options).run(); }

}  // namespace warpmark::collectives
