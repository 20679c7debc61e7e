// Where work runs. A Backend says whether, and why not, a kind of device is available; a Device owns memory, a stream
// and a way to time launches. Both are edges with a fake for tests (tests/support/fake_device.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/catalog.h"
#include "base/result.h"
#include "model/machine.h"
#include "model/run.h"

namespace warpmark::device {

/// A queue of the device. `handle` is a cudaStream_t on CUDA and null on the CPU.
struct Stream {
  void* handle = nullptr;
};

/// Work that can be launched again and again. Calls come from one thread.
class Launchable {
 public:
  virtual ~Launchable() = default;
  /// Enqueues (GPU) or does (CPU) the work once on input set `set`. Inside the timed region: it must not allocate, log,
  /// lock or synchronize.
  virtual Status launch(Stream stream, std::size_t set) = 0;
};

/// Device memory, freed with the object. At least 256-byte aligned; uninitialized.
class Buffer {
 public:
  virtual ~Buffer() = default;
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 protected:
  Buffer(void* data, std::size_t size) : data_(data), size_(size) {}

 private:
  void* data_;
  std::size_t size_;
};

/// The timer that TimedSequence::time uses, measured on this machine.
struct TimerInfo {
  std::string method;       ///< see Timing::method
  double resolution_s = 0;  ///< smallest non-zero difference seen between two readings
  double overhead_s = 0;    ///< median time of an empty region; already subtracted by time()
};

struct SequenceOptions {
  Mode mode = Mode::cold;
  std::size_t launches = 1;  ///< launches in one timed sequence
  std::size_t sets = 1;      ///< input sets to rotate over
  bool host_clock = false;   ///< time from the call to the completed work by the host's clock, launch cost included
};

/// A sequence of launches that can be timed again and again.
class TimedSequence {
 public:
  virtual ~TimedSequence() = default;
  /// Seconds for the whole sequence, timer overhead subtracted. Launch i uses set (first_set + i) % sets; a captured
  /// graph has its sets fixed at capture and starts at 0. Returns after the work is complete.
  virtual Result<double> time(std::size_t first_set) = 0;
};

/// One reading of the environment; `value` is absent if it cannot be read here.
struct Sensor {
  std::string id;
  std::string unit;
  std::optional<double> value;
};

/// A thread of this process, by what the kernel's scheduler counted since it began.
struct ThreadWait {
  std::int64_t thread = 0;
  double waited_s = 0;         ///< ready to run, without a CPU
  std::int64_t scheduled = 0;  ///< how often it was given one
};

/// The environment at one moment.
struct Conditions {
  std::vector<Sensor> sensors;
  std::vector<std::string> throttle_reasons;  ///< active right now, in NVML's terms
  std::vector<std::string> other_processes;   ///< competing users of the device: "1234 python"
  std::vector<ThreadWait> threads{};          ///< of this process; none where the kernel does not count
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] virtual TimerInfo timer(const SequenceOptions& options) const = 0;
  [[nodiscard]] virtual Stream stream() const = 0;

  /// Environment error naming the sizes if there is not enough memory.
  virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) = 0;
  /// Bytes that can be allocated now.
  virtual Result<std::int64_t> free_memory() = 0;
  virtual Status write(Buffer& to, std::size_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status read(const Buffer& from, std::size_t offset, std::span<std::byte> bytes) = 0;
  virtual Status fill(Buffer& buffer, std::size_t offset, std::size_t bytes, unsigned char value) = 0;
  virtual Status synchronize() = 0;

  /// `work` must outlive the sequence. Unsupported error if the mode does not exist here.
  virtual Result<std::unique_ptr<TimedSequence>> sequence(Launchable& work, const SequenceOptions& options) = 0;

  virtual Result<Conditions> conditions() = 0;
};

/// Whether something can be used here, and if not, why and what to do.
struct Support {
  bool available = true;
  std::string reason;
  std::string hint;
  [[nodiscard]] static Support yes() { return {}; }
  [[nodiscard]] static Support no(std::string reason, std::string hint = {}) {
    return {false, std::move(reason), std::move(hint)};
  }
};

/// A kind of device.
struct Backend {
  const char* id;  ///< "cpu", "cuda"
  const char* summary;
  Support (*available)();
  Result<std::vector<DeviceInfo>> (*devices)();
  Result<std::unique_ptr<Device>> (*open)(int index);
};

[[nodiscard]] Catalog<Backend> backends();

/// Devices meant by "cpu", "cuda:1", "cuda" (all of them) or "all" (every available one). Usage error with the list of
/// devices if there is no such device.
[[nodiscard]] Result<std::vector<DeviceInfo>> select_devices(const std::string& selector);
[[nodiscard]] Result<std::unique_ptr<Device>> open_device(const std::string& id);

}  // namespace warpmark::device
