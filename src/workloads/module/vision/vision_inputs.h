// Host-made inputs on their way to the GPU, and outputs on their way back to be checked. Not for timed regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/random.h"
#include "workloads/module/device_arrays.h"
#include "workloads/vision/inputs.h"

namespace warpmark::workloads::vision {

/// The seed of array number `array` of input set `set`.
[[nodiscard]] inline std::uint64_t array_seed(std::uint64_t seed, std::size_t set, std::size_t array) {
  return stats::derive_seed(stats::derive_seed(seed, set), array);
}

[[nodiscard]] inline Status upload(device::Device& device, const DeviceArray& to, std::span<const std::byte> bytes) {
  return device.write(*to.buffer(), 0, bytes);
}

template <typename T>
[[nodiscard]] Result<std::vector<T>> download(device::Device& device, const DeviceArray& from) {
  std::vector<T> values(from.bytes() / sizeof(T));
  WM_TRY(device.read(*from.buffer(), 0, std::as_writable_bytes(std::span(values))));
  return values;
}

}  // namespace warpmark::workloads::vision
