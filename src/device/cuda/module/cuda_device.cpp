#include "device/cuda/module/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "device/cpu/proc.h"
#include "device/cuda/module/cuda_handles.h"
#include "device/nvml/nvml.h"

namespace warpmark::device {
namespace {

// Timed sequences on a CUDA stream. Three methods: events around launches that were enqueued behind a blocking kernel
// (launch gaps kept out), events around the replay of a captured graph, and the host's clock around launch and
// synchronize.

/// Launches enqueued while the stream is blocked. A stream's queue is finite (about 1024 entries), and a workload may
/// enqueue several kernels a launch: the launches after these are enqueued behind running ones.
constexpr std::size_t kLaunchesWhileBlocked = 32;

struct SequencePlace {
  int device_index = 0;
  cudaStream_t stream = nullptr;
  double overhead_s = 0;  ///< subtracted from each time
};

constexpr unsigned long long kBlockTimeoutNs = 5'000'000'000ULL;

/// Holds a stream back from block() to release().
class StreamBlock {
 public:
  StreamBlock() = default;
  StreamBlock(const StreamBlock&) = delete;
  StreamBlock& operator=(const StreamBlock&) = delete;
  ~StreamBlock() { (void)cudaFreeHost(flags_); }

  Status create() {
    WM_CUDA(cudaHostAlloc(reinterpret_cast<void**>(&flags_), sizeof(BlockFlags), cudaHostAllocMapped));
    WM_CUDA(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_flags_), flags_, 0));
    *flags_ = {1, 0};
    return {};
  }

  /// Nothing may be blocked at the time: the flags are shared with the kernel.
  Status block(cudaStream_t stream) {
    std::atomic_ref(flags_->timed_out).store(0, std::memory_order_relaxed);
    std::atomic_ref(flags_->release).store(0, std::memory_order_release);
    return cuda_status(launch_blocking_kernel(stream, device_flags_, kBlockTimeoutNs), "launch of the blocking kernel");
  }

  void release() { std::atomic_ref(flags_->release).store(1, std::memory_order_release); }

  [[nodiscard]] bool timed_out() const { return std::atomic_ref(flags_->timed_out).load() != 0; }

 private:
  BlockFlags* flags_ = nullptr;
  BlockFlags* device_flags_ = nullptr;
};

/// Releases the stream when the scope is left, by an error or an exception of the work too.
class ReleaseGuard {
 public:
  explicit ReleaseGuard(StreamBlock& block) : block_(block) {}
  ReleaseGuard(const ReleaseGuard&) = delete;
  ReleaseGuard& operator=(const ReleaseGuard&) = delete;
  ~ReleaseGuard() { block_.release(); }

 private:
  StreamBlock& block_;
};

/// What events and a blocking kernel share between the launch and the graph method.
class EventTimer {
 public:
  explicit EventTimer(const SequencePlace& place) : place_(place) {}

  Status create() {
    WM_TRY(block_.create());
    WM_TRY(start_.create(cudaEventDefault));
    return stop_.create(cudaEventDefault);
  }

  /// Seconds between the events around what `enqueue` puts on the stream; `enqueue` may release the block early.
  template <typename Enqueue>
  Result<double> time(Enqueue&& enqueue) {
    WM_CUDA(cudaSetDevice(place_.device_index));
    {
      const ReleaseGuard guard(block_);
      WM_TRY(block_.block(place_.stream));
      WM_CUDA(cudaEventRecord(start_.get(), place_.stream));
      WM_TRY(enqueue(block_));
      WM_CUDA(cudaEventRecord(stop_.get(), place_.stream));
    }
    WM_CUDA(cudaStreamSynchronize(place_.stream));
    if (block_.timed_out()) return blocked_too_long();
    float milliseconds = 0;
    WM_CUDA(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    return std::max(0.0, static_cast<double>(milliseconds) * 1e-3 - place_.overhead_s);
  }

 private:
  static Error blocked_too_long() {
    return environment_error(
        fmt::format("the launches were not enqueued within {} s: the work waits for the GPU inside its launch, or a "
                    "profiler or debugger runs kernels one by one",
                    kBlockTimeoutNs / 1'000'000'000ULL),
        "run without the profiler, or time it by the host's clock");
  }

  SequencePlace place_;
  StreamBlock block_;
  Event start_;
  Event stop_;
};

class EventSequence final : public TimedSequence {
 public:
  EventSequence(Launchable& work, const SequenceOptions& options, const SequencePlace& place)
      : work_(work), options_(options), stream_{place.stream}, timer_(place) {}

  Status create() { return timer_.create(); }

  Result<double> time(std::size_t first_set) override {
    return timer_.time([&](StreamBlock& block) -> Status {
      for (std::size_t i = 0; i < options_.launches; ++i) {
        if (i == kLaunchesWhileBlocked) block.release();
        WM_TRY(work_.launch(stream_, (first_set + i) % options_.sets));
      }
      return {};
    });
  }

 private:
  Launchable& work_;
  SequenceOptions options_;
  Stream stream_;
  EventTimer timer_;
};

class GraphSequence final : public TimedSequence {
 public:
  explicit GraphSequence(const SequencePlace& place) : place_(place), timer_(place) {}

  Status create(Launchable& work, const SequenceOptions& options) {
    WM_TRY(timer_.create());
    WM_TRY(capture(work, options));
    WM_CUDA(cudaGraphInstantiate(&executable_.handle, graph_.handle, 0));
    WM_CUDA(cudaGraphUpload(executable_.handle, place_.stream));
    WM_CUDA(cudaStreamSynchronize(place_.stream));
    return {};
  }

  Result<double> time(std::size_t) override {
    return timer_.time([&](StreamBlock&) {
      return cuda_status(cudaGraphLaunch(executable_.handle, place_.stream), "cudaGraphLaunch");
    });
  }

 private:
  Status capture(Launchable& work, const SequenceOptions& options) {
    // Thread-local: calls of other threads, and of libraries that allow it, stay legal meanwhile.
    WM_CUDA(cudaStreamBeginCapture(place_.stream, cudaStreamCaptureModeThreadLocal));
    Status launched;
    for (std::size_t i = 0; i < options.launches && launched.ok(); ++i) {
      launched = work.launch({place_.stream}, i % options.sets);
    }
    const Status ended = cuda_status(cudaStreamEndCapture(place_.stream, &graph_.handle), "cudaStreamEndCapture");
    if (launched.ok() && ended.ok()) return {};
    const std::string why = launched.ok() ? ended.error().what : launched.error().what;
    return unsupported_error("the work cannot be captured into a CUDA graph: " + why, "choose mode=cold or mode=hot");
  }

  SequencePlace place_;
  EventTimer timer_;
  Graph graph_;
  GraphExecutable executable_;
};

class HostClockSequence final : public TimedSequence {
 public:
  HostClockSequence(Launchable& work, const SequenceOptions& options, const SequencePlace& place)
      : work_(work), options_(options), place_(place) {}

  Result<double> time(std::size_t first_set) override {
    WM_CUDA(cudaSetDevice(place_.device_index));
    const std::int64_t start = monotonic_ns();
    for (std::size_t i = 0; i < options_.launches; ++i) {
      WM_TRY(work_.launch({place_.stream}, (first_set + i) % options_.sets));
    }
    WM_CUDA(cudaStreamSynchronize(place_.stream));
    const std::int64_t end = monotonic_ns();
    return std::max(0.0, static_cast<double>(end - start) * 1e-9 - place_.overhead_s);
  }

 private:
  Launchable& work_;
  SequenceOptions options_;
  SequencePlace place_;
};

Status check_options(const SequenceOptions& options) {
  if (options.launches == 0 || options.sets == 0) return internal_error("a sequence of no launches or no input sets");
  if (options.host_clock && options.mode == Mode::graph) {
    return unsupported_error("mode graph times the device, this workload the host's view of it", "choose mode=cold");
  }
  return {};
}

/// Enqueues nothing: what remains is the timer itself.
class Nothing final : public Launchable {
 public:
  Status launch(Stream, std::size_t) override { return {}; }
};

/// Smallest step between two readings, and their median. Float noise below a nanosecond is no step.
TimerInfo timer_from(std::vector<double> readings_s, const char* method) {
  constexpr double kNoise = 1e-9;
  std::sort(readings_s.begin(), readings_s.end());
  double step = 0;
  const auto consider = [&](double difference) {
    if (difference > kNoise * 0.5 && (step == 0 || difference < step)) step = difference;
  };
  for (std::size_t i = 1; i < readings_s.size(); ++i) consider(readings_s[i] - readings_s[i - 1]);
  if (step == 0) consider(readings_s.front());
  return {method, step, readings_s[readings_s.size() / 2]};
}

TimerInfo host_timer() {
  std::vector<double> readings;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t start = monotonic_ns();
    readings.push_back(static_cast<double>(monotonic_ns() - start) * 1e-9);
  }
  return timer_from(std::move(readings), "host clock");
}

/// Launches `work` once (input set 0) and waits, so that its kernels are loaded: loading lazily behind a blocking
/// kernel would wait for that kernel. Unsupported error if mode graph cannot capture the work.
Result<std::unique_ptr<TimedSequence>> make_cuda_sequence(Launchable& work, const SequenceOptions& options,
                                                          const SequencePlace& place) {
  WM_TRY(check_options(options));
  WM_CUDA(cudaSetDevice(place.device_index));
  WM_TRY(work.launch({place.stream}, 0));
  WM_CUDA(cudaStreamSynchronize(place.stream));
  if (options.host_clock) return {std::make_unique<HostClockSequence>(work, options, place)};
  if (options.mode == Mode::graph) {
    auto sequence = std::make_unique<GraphSequence>(place);
    WM_TRY(sequence->create(work, options));
    return {std::move(sequence)};
  }
  auto sequence = std::make_unique<EventSequence>(work, options, place);
  WM_TRY(sequence->create());
  return {std::move(sequence)};
}

/// Resolution and overhead of the method that `options` selects, from timing an empty region.
Result<TimerInfo> measure_cuda_timer(const SequenceOptions& options, const SequencePlace& place) {
  if (options.host_clock) return host_timer();
  constexpr int kReadings = 101;
  Nothing nothing;
  SequencePlace raw = place;
  raw.overhead_s = 0;
  // The start of a replay is part of its time, so what is subtracted is the events' own cost in both modes.
  WM_ASSIGN(const auto sequence, make_cuda_sequence(nothing, {.mode = Mode::hot}, raw));
  WM_ASSIGN([[maybe_unused]] const double first, sequence->time(0));  // loads the blocking kernel
  std::vector<double> readings;
  for (int i = 0; i < kReadings; ++i) {
    WM_ASSIGN(const double seconds, sequence->time(0));
    readings.push_back(seconds);
  }
  return timer_from(std::move(readings), options.mode == Mode::graph ? "cuda_graph" : "cuda_event");
}

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
