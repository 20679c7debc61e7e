// A device of the imagination for tests of everything above src/device: sample times and conditions come from functions
// the test gives, memory is the heap's. launch() of the work is really called, so that counters and outputs are true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"

namespace warpmark::test {

/// What the test reads afterwards.
struct FakeDeviceLog {
  std::vector<device::SequenceOptions> sequences;  ///< options of each sequence made
  std::vector<std::size_t> first_sets;             ///< argument of each time()
  std::vector<std::size_t> launched_sets;          ///< set of each launch made by time()
  std::size_t conditions_read = 0;
  std::size_t synchronized = 0;
  std::int64_t allocated_bytes = 0;  ///< alive now
};

/// Set the public members before use. One thread.
class FakeDevice final : public device::Device {
 public:
  FakeDevice() {
    device_info.id = "fake";
    device_info.backend = "fake";
    device_info.name = "Fake device";
    device_info.memory_bytes = std::int64_t{1} << 30;
    device_info.last_level_cache_bytes = std::int64_t{1} << 20;
    device_info.compute_units = 1;
  }

  DeviceInfo device_info;
  device::TimerInfo timer_info{"fake", 1e-9, 0};
  /// Time that one launch on `set` takes; the sum over a sequence is what time() returns.
  std::function<double(std::size_t set)> seconds_per_launch = [](std::size_t) { return 1e-3; };
  /// Conditions of the n-th reading (0, 1, ...). Empty by default.
  std::function<device::Conditions(std::size_t n)> conditions_at = [](std::size_t) { return device::Conditions{}; };
  bool has_graph_mode = false;
  std::optional<Error> time_error;        ///< time() fails with it
  std::optional<Error> conditions_error;  ///< conditions() fails with it

  [[nodiscard]] const FakeDeviceLog& log() const { return *log_; }

  [[nodiscard]] const DeviceInfo& info() const override { return device_info; }
  [[nodiscard]] device::TimerInfo timer(const device::SequenceOptions& /*options*/) const override {
    return timer_info;
  }
  [[nodiscard]] device::Stream stream() const override { return {}; }

  Result<std::unique_ptr<device::Buffer>> allocate(std::size_t bytes) override {
    const auto available = device_info.memory_bytes - log_->allocated_bytes;
    if (static_cast<std::int64_t>(bytes) > available) {
      return environment_error("needs " + std::to_string(bytes) + " bytes, " + std::to_string(available) +
                                   " are available on " + device_info.id,
                               "choose a smaller shape with --set");
    }
    return std::unique_ptr<device::Buffer>(std::make_unique<HeapBuffer>(bytes, log_));
  }
  Result<std::int64_t> free_memory() override { return device_info.memory_bytes - log_->allocated_bytes; }
  Status write(device::Buffer& to, std::size_t offset, std::span<const std::byte> bytes) override {
    WM_CHECK(offset <= to.size() && bytes.size() <= to.size() - offset);
    if (!bytes.empty()) std::memcpy(at(to, offset), bytes.data(), bytes.size());
    return {};
  }
  Status read(const device::Buffer& from, std::size_t offset, std::span<std::byte> bytes) override {
    WM_CHECK(offset <= from.size() && bytes.size() <= from.size() - offset);
    if (!bytes.empty()) std::memcpy(bytes.data(), at(from, offset), bytes.size());
    return {};
  }
  Status fill(device::Buffer& buffer, std::size_t offset, std::size_t bytes, unsigned char value) override {
    WM_CHECK(offset <= buffer.size() && bytes <= buffer.size() - offset);
    if (bytes > 0) std::memset(at(buffer, offset), value, bytes);
    return {};
  }
  Status synchronize() override {
    ++log_->synchronized;
    return {};
  }

  Result<std::unique_ptr<device::TimedSequence>> sequence(device::Launchable& work,
                                                          const device::SequenceOptions& options) override {
    WM_CHECK(options.sets > 0 && options.launches > 0);
    if (options.mode == Mode::graph && !has_graph_mode) {
      return unsupported_error("the fake device has no graph mode");
    }
    log_->sequences.push_back(options);
    return std::unique_ptr<device::TimedSequence>(std::make_unique<Sequence>(*this, work, options));
  }

  Result<device::Conditions> conditions() override {
    if (conditions_error) return *conditions_error;
    return conditions_at(log_->conditions_read++);
  }

 private:
  static constexpr std::align_val_t kAlignment{256};

  class HeapBuffer final : public device::Buffer {
   public:
    HeapBuffer(std::size_t bytes, std::shared_ptr<FakeDeviceLog> log)
        : Buffer(::operator new(bytes, kAlignment), bytes), log_(std::move(log)) {
      log_->allocated_bytes += static_cast<std::int64_t>(bytes);
    }
    HeapBuffer(const HeapBuffer&) = delete;
    HeapBuffer& operator=(const HeapBuffer&) = delete;
    ~HeapBuffer() override {
      log_->allocated_bytes -= static_cast<std::int64_t>(size());
      ::operator delete(data(), kAlignment);
    }

   private:
    std::shared_ptr<FakeDeviceLog> log_;
  };

  class Sequence final : public device::TimedSequence {
   public:
    Sequence(FakeDevice& device, device::Launchable& work, const device::SequenceOptions& options)
        : device_(device), work_(work), options_(options) {}
    Result<double> time(std::size_t first_set) override {
      if (device_.time_error) return *device_.time_error;
      device_.log_->first_sets.push_back(first_set);
      const std::size_t start = options_.mode == Mode::graph ? 0 : first_set;
      double seconds = 0;
      for (std::size_t i = 0; i < options_.launches; ++i) {
        const std::size_t set = (start + i) % options_.sets;
        WM_TRY(work_.launch(device_.stream(), set));
        device_.log_->launched_sets.push_back(set);
        seconds += device_.seconds_per_launch(set);
      }
      return seconds;
    }

   private:
    FakeDevice& device_;
    device::Launchable& work_;
    device::SequenceOptions options_;
  };

  static std::byte* at(const device::Buffer& buffer, std::size_t offset) {
    return static_cast<std::byte*>(buffer.data()) + offset;
  }

  std::shared_ptr<FakeDeviceLog> log_ = std::make_shared<FakeDeviceLog>();
};

}  // namespace warpmark::test
