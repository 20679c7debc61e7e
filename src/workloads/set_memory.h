// Host memory for the arrays of all input sets, in one allocation, and random inputs. For CPU implementations: the
// device's buffers are ordinary memory there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace warpmark::workloads {

/// Every array starts on a cache line, and arrays of one set start at different offsets within a 4 KiB page: loads that
/// follow stores with the same low 12 address bits would otherwise wait for them ("4K aliasing", Intel Optimization
/// Reference Manual, section on memory disambiguation).
class SetMemory {
 public:
  SetMemory() = default;
  /// `array_bytes` are the sizes of one set's arrays. Uninitialized. `given`: another's memory, as large, which array 0
  /// of each set is, and nothing is allocated for it; empty: it is allocated, too. Environment error naming the sizes
  /// if there is not enough memory.
  [[nodiscard]] static Result<SetMemory> make(device::Device& device, std::size_t sets,
                                              std::span<const std::size_t> array_bytes,
                                              std::span<const std::span<std::byte>> given = {});

  [[nodiscard]] std::size_t sets() const { return sets_; }

  /// Array `index` of set `set`, as elements of T.
  template <typename T>
  [[nodiscard]] std::span<T> array(std::size_t set, std::size_t index) const {
    const std::span<std::byte> raw = bytes(set, index);
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }
  [[nodiscard]] std::span<std::byte> bytes(std::size_t set, std::size_t index) const {
    WM_CHECK(set < sets_ && index < places_.size());
    if (index == 0 && !given_.empty()) return given_[set];
    return {static_cast<std::byte*>(buffer_->data()) + set * set_bytes_ + places_[index].offset, places_[index].bytes};
  }

  /// Fills array `index` of every set with bytes 0xFF: NaN in every floating format, -1 in integers.
  void poison(std::size_t index) const;

 private:
  struct Place {
    std::size_t offset;
    std::size_t bytes;
  };
  std::unique_ptr<device::Buffer> buffer_;
  std::vector<Place> places_;
  std::vector<std::span<std::byte>> given_;  ///< in place of array 0
  std::size_t set_bytes_ = 0;
  std::size_t sets_ = 0;
};

// Random inputs of every storage format, made by all cores. Element i is a function of (seed, i) alone, whatever the
// number of threads.

/// The seed of one array: array number `array` of input set `set`.
[[nodiscard]] std::uint64_t array_seed(std::uint64_t seed, std::size_t set, std::size_t array);

/// Uniform in [low, high).
void fill_random(std::span<float> values, std::uint64_t seed, float low = -1, float high = 1);
void fill_random(std::span<double> values, std::uint64_t seed, double low = -1, double high = 1);

/// Uniform in [-bound, bound), rounded to the nearest bf16 or f16.
void fill_random_bf16(std::span<std::uint16_t> values, std::uint64_t seed, float bound = 1);
void fill_random_f16(std::span<std::uint16_t> values, std::uint64_t seed, float bound = 1);

/// Uniform over the integers -127 .. 127.
void fill_random(std::span<std::int8_t> values, std::uint64_t seed);

}  // namespace warpmark::workloads
