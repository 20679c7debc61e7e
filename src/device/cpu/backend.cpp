// The CPU as a Device. Memory is mapped and not touched, so that the threads which use a page first place it on their
// own NUMA node. Cold and hot need nothing different here: the caller rotates the input sets.
#include "device/cpu/backend.h"

#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "device/cpu/conditions.h"
#include "device/cpu/memory.h"
#include "device/cpu/proc.h"
#include "device/cpu/timer.h"
#include "device/cpu/topology.h"

namespace warpmark::device {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// Left to the rest of the process: without it the kernel kills us before an allocation can fail.
constexpr std::int64_t kReserve_bytes = std::int64_t{64} << 20;

/// Pages of this process that are in memory; 0 if unknown.
std::int64_t resident_bytes() {
  const auto line = first_line("/proc/self/statm");  // size resident ... in pages
  const auto resident = leading_number(line.substr(std::min(line.find(' '), line.size())));
  return static_cast<std::int64_t>(resident.value_or(0)) * sysconf(_SC_PAGESIZE);
}

/// What a limit of the address space (ulimit -v) still allows.
std::int64_t address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::int64_t>::max();
  }
  const auto used =
      leading_number(first_line("/proc/self/statm")).value_or(0) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return static_cast<std::int64_t>(static_cast<double>(limit.rlim_cur) - used);
}

class CpuBuffer final : public Buffer {
 public:
  using Count = std::shared_ptr<std::atomic<std::int64_t>>;
  CpuBuffer(void* data, std::size_t size, std::span<std::byte> mapping, Count mapped)
      : Buffer(data, size), mapping_(mapping), mapped_(std::move(mapped)) {
    *mapped_ += static_cast<std::int64_t>(mapping_.size());
  }
  CpuBuffer(const CpuBuffer&) = delete;
  CpuBuffer& operator=(const CpuBuffer&) = delete;
  ~CpuBuffer() override {
    munmap(mapping_.data(), mapping_.size());
    *mapped_ -= static_cast<std::int64_t>(mapping_.size());
  }

 private:
  std::span<std::byte> mapping_;
  Count mapped_;
};

struct TscClock {
  explicit TscClock(const CpuTimer& timer) : seconds_per_unit(timer.rate.seconds_per_tick) {}
  double seconds_per_unit;
  static std::uint64_t start() { return tsc_start(); }
  static std::uint64_t stop() { return tsc_stop(); }
};

struct MonotonicClock {
  explicit MonotonicClock(const CpuTimer& /*timer*/) {}
  double seconds_per_unit = 1e-9;
  static std::int64_t start() { return monotonic_ns(); }
  static std::int64_t stop() { return monotonic_ns(); }
};

/// The clock is a template parameter to keep its choice out of the timed region.
template <typename Clock>
class CpuSequence final : public TimedSequence {
 public:
  CpuSequence(Launchable& work, const SequenceOptions& options, const CpuTimer& timer)
      : work_(work), options_(options), clock_(timer), floor_(timer.info) {}

  /// A sequence too short to tell from an empty one takes the timer's resolution: it is not 0, and batching more
  /// launches is the way to measure it.
  Result<double> time(std::size_t first_set) override {
    std::size_t set = first_set % options_.sets;
    const auto begin = Clock::start();
    for (std::size_t i = 0; i < options_.launches; ++i) {
      if (auto status = work_.launch({}, set); !status.ok()) [[unlikely]]
        return status.error();
      set = set + 1 == options_.sets ? 0 : set + 1;
    }
    const auto end = Clock::stop();
    const double seconds = static_cast<double>(end - begin) * clock_.seconds_per_unit - floor_.overhead_s;
    return std::max(seconds, floor_.resolution_s);
  }

 private:
  Launchable& work_;
  SequenceOptions options_;
  Clock clock_;
  TimerInfo floor_;
};

class CpuDevice final : public Device {
 public:
  CpuDevice() : info_(cpu_device_info(this_topology(), read_memory("/"))), resident_at_open_(resident_bytes()) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] TimerInfo timer(const SequenceOptions& /*options*/) const override { return cpu_timer().info; }
  [[nodiscard]] Stream stream() const override { return {}; }

  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    WM_ASSIGN(const std::int64_t available, free_memory());
    if (bytes > static_cast<std::size_t>(available)) return no_memory(bytes, available);
    // Whole pages; from 2 MiB on aligned to a huge page, so that the kernel can use them throughout.
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : page;
    const std::size_t used = std::max(page, (bytes + page - 1) / page * page);
    const std::size_t mapped = used + alignment - page;
    void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return no_memory(bytes, available);
    const auto address = std::bit_cast<std::uintptr_t>(mapping);
    const std::size_t skip = (alignment - address % alignment) % alignment;
    auto* const data = static_cast<std::byte*>(mapping) + skip;
    madvise(data, used, MADV_HUGEPAGE);  // advice only: kernels without huge pages refuse it
    return std::unique_ptr<Buffer>(
        std::make_unique<CpuBuffer>(data, bytes, std::span(static_cast<std::byte*>(mapping), mapped), mapped_bytes_));
  }

  Result<std::int64_t> free_memory() override {
    // Mapped but untouched pages are still counted as available by the kernel, though promised to a buffer.
    const std::int64_t mapped = *mapped_bytes_;
    const std::int64_t touched = std::clamp<std::int64_t>(resident_bytes() - resident_at_open_, 0, mapped);
    const MemoryState memory = read_memory("/");
    if (memory.total_bytes == 0) return environment_error("/proc/meminfo cannot be read", "mount /proc");
    const std::int64_t free = std::min(memory.available_bytes - (mapped - touched), address_space_left());
    return std::max<std::int64_t>(0, free - kReserve_bytes);
  }

  Status write(Buffer& to, std::size_t offset, std::span<const std::byte> bytes) override {
    WM_CHECK(offset <= to.size() && bytes.size() <= to.size() - offset);
    if (!bytes.empty()) std::memcpy(at(to, offset), bytes.data(), bytes.size());
    return {};
  }
  Status read(const Buffer& from, std::size_t offset, std::span<std::byte> bytes) override {
    WM_CHECK(offset <= from.size() && bytes.size() <= from.size() - offset);
    if (!bytes.empty()) std::memcpy(bytes.data(), at(from, offset), bytes.size());
    return {};
  }
  Status fill(Buffer& buffer, std::size_t offset, std::size_t bytes, unsigned char value) override {
    WM_CHECK(offset <= buffer.size() && bytes <= buffer.size() - offset);
    if (bytes > 0) std::memset(at(buffer, offset), value, bytes);
    return {};
  }
  Status synchronize() override { return {}; }  // launches return when the work is done

  Result<std::unique_ptr<TimedSequence>> sequence(Launchable& work, const SequenceOptions& options) override {
    WM_CHECK(options.sets > 0 && options.launches > 0);
    if (options.mode == Mode::graph) {
      return unsupported_error("the CPU has no graph mode", "use mode=cold or mode=hot");
    }
    const CpuTimer& timer = cpu_timer();
    if (timer.use_tsc) {
      return std::unique_ptr<TimedSequence>(std::make_unique<CpuSequence<TscClock>>(work, options, timer));
    }
    return std::unique_ptr<TimedSequence>(std::make_unique<CpuSequence<MonotonicClock>>(work, options, timer));
  }

  Result<Conditions> conditions() override { return read_cpu_conditions("/"); }

 private:
  static std::byte* at(const Buffer& buffer, std::size_t offset) {
    return static_cast<std::byte*>(buffer.data()) + offset;
  }

  static Error no_memory(std::size_t bytes, std::int64_t available) {
    return with_code(environment_error("needs " + std::to_string(bytes) + " bytes of memory, " +
                                           std::to_string(available) + " are available",
                                       "choose a smaller shape with --set, or free some memory"),
                     ErrorCode::out_of_memory);
  }

  DeviceInfo info_;
  std::int64_t resident_at_open_;
  std::shared_ptr<std::atomic<std::int64_t>> mapped_bytes_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

Support cpu_available() { return Support::yes(); }

Result<std::vector<DeviceInfo>> cpu_devices() {
  return std::vector<DeviceInfo>{cpu_device_info(this_topology(), read_memory("/"))};
}

Result<std::unique_ptr<Device>> open_cpu(int index) {
  if (index != 0) return usage_error("there is no CPU device " + std::to_string(index), "the only one is 'cpu'");
  constexpr int kMostThreads = 8192;  // OpenMP's runtime keeps a team on the stack, which ends the program
  if (omp_get_max_threads() > kMostThreads) {
    return usage_error("OMP_NUM_THREADS asks for " + std::to_string(omp_get_max_threads()) + " threads",
                       "unset it, or ask for at most " + std::to_string(kMostThreads));
  }
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>());
}

}  // namespace

const Backend kCpuBackend{
    .id = "cpu",
    .summary = "this machine's processors",
    .available = cpu_available,
    .devices = cpu_devices,
    .open = open_cpu,
};

}  // namespace warpmark::device
