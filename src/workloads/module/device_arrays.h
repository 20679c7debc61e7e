// Arrays in GPU memory for workloads: random inputs, poisoned outputs, and the comparison with a reference, all done on
// the device so that gigabytes need no copy. None of this is inside a timed region.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "device/device.h"
#include "workloads/module/array_kernels.h"

namespace warpmark::workloads {

/// Stands for an error that is NaN or infinite, which JSON cannot say: above any tolerance.
inline constexpr double kInfiniteError = 1e300;

/// A typed array with its memory.
class DeviceArray {
 public:
  DeviceArray() = default;
  /// Environment error naming the sizes if there is not enough memory. Uninitialized.
  [[nodiscard]] static Result<DeviceArray> make(device::Device& device, std::int64_t count, ElementType type);

  /// Another's memory, which outlives it: that of `set`, of so many elements. Where none is given, as make().
  [[nodiscard]] static Result<DeviceArray> given_or_made(device::Device& device,
                                                         std::span<const std::span<std::byte>> given, std::size_t set,
                                                         std::int64_t count, ElementType type);

  [[nodiscard]] void* data() const { return buffer_ ? buffer_->data() : nullptr; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data());
  }
  [[nodiscard]] device::Buffer* buffer() const { return buffer_.get(); }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(count_) * size_of(type_); }
  /// The device's memory.
  [[nodiscard]] std::span<std::byte> span() const { return {as<std::byte>(), bytes()}; }

 private:
  std::unique_ptr<device::Buffer> buffer_;
  std::int64_t count_ = 0;
  ElementType type_ = ElementType::f32;
};

struct MemoryNeed {
  std::size_t sets = 1;
  double set_bytes = 0;  ///< of one input set with its outputs
};

/// Environment error naming the bytes needed and those free, before anything is allocated.
[[nodiscard]] Status require_memory(device::Device& device, const MemoryNeed& need);

/// Which random numbers: element i is a function of (seed, set, array, i) only.
struct RandomStream {
  std::uint64_t seed = 0;
  std::size_t set = 0;  ///< input set
  unsigned array = 0;   ///< which of the workload's arrays
  bool whole = false;   ///< whole numbers, so that sums in floating point are exact
};

/// Independent uniform numbers in [-1, 1), rounded to the array's type; integer types, and `whole`, get whole numbers
/// uniform in [-127, 127]. Enqueued on `stream`.
[[nodiscard]] Status fill_uniform(device::Stream stream, const DeviceArray& array, const RandomStream& random);

/// Bytes 0xFF: NaN in every floating format, -1 in integers. Enqueued on `stream`.
[[nodiscard]] Status poison(device::Stream stream, const DeviceArray& array);

/// ||out - reference|| / ||reference|| (Frobenius, summed in fp64 in a fixed order) over equally many elements of any
/// two types. kInfiniteError if an element of `out` is NaN or infinite; ||out|| if the reference is all zeros.
[[nodiscard]] Result<double> relative_error(device::Device& device, const DeviceArray& out,
                                            const DeviceArray& reference);

/// How many elements differ, compared as numbers; NaN differs from everything.
[[nodiscard]] Result<double> count_different(device::Device& device, const DeviceArray& out,
                                             const DeviceArray& reference);

/// to[i] = from[i], rounded to to's type. Enqueued on `stream`; the same count.
[[nodiscard]] Status convert(device::Stream stream, const DeviceArray& from, const DeviceArray& to);

}  // namespace warpmark::workloads
