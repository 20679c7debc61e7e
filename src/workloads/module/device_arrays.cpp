#include "workloads/module/device_arrays.h"

#include <fmt/format.h>

#include <cmath>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

/// FNV-1a over the fields: every array of every set has its own key, and so its own numbers.
std::uint64_t key_of(const RandomStream& random) {
  std::uint64_t key = 0xCBF29CE484222325ULL;
  for (std::uint64_t field : {random.seed, static_cast<std::uint64_t>(random.set), std::uint64_t{random.array}}) {
    for (int byte = 0; byte < 8; ++byte, field >>= 8) key = (key ^ (field & 0xFFU)) * 0x100000001B3ULL;
  }
  return key;
}

ArrayView view_of(const DeviceArray& array) { return {array.data(), array.type()}; }

Result<ErrorSums> error_sums(device::Device& device, const DeviceArray& out, const DeviceArray& reference) {
  WM_CHECK(out.count() == reference.count());
  WM_ASSIGN(const auto sums, device.allocate((kErrorBlocks + 1) * sizeof(ErrorSums)));
  WM_CUDA(launch_error_sums(cuda_stream(device.stream()), view_of(out), view_of(reference), out.count(),
                            static_cast<ErrorSums*>(sums->data())));
  ErrorSums total{};
  WM_TRY(device.read(*sums, kErrorBlocks * sizeof(ErrorSums), std::as_writable_bytes(std::span(&total, 1))));
  return total;
}

class GivenBuffer final : public device::Buffer {
 public:
  explicit GivenBuffer(std::span<std::byte> given) : Buffer(given.data(), given.size()) {}
};

}  // namespace

Result<DeviceArray> DeviceArray::given_or_made(device::Device& device, std::span<const std::span<std::byte>> given,
                                               std::size_t set, std::int64_t count, ElementType type) {
  if (given.empty()) return make(device, count, type);
  DeviceArray array;
  array.count_ = count;
  array.type_ = type;
  WM_CHECK(set < given.size() && given[set].size() == array.bytes());
  array.buffer_ = std::make_unique<GivenBuffer>(given[set]);
  return array;
}

Result<DeviceArray> DeviceArray::make(device::Device& device, std::int64_t count, ElementType type) {
  DeviceArray array;
  array.count_ = count;
  array.type_ = type;
  WM_ASSIGN(array.buffer_, device.allocate(array.bytes()));
  return array;
}

Status require_memory(device::Device& device, const MemoryNeed& need) {
  WM_ASSIGN(const std::int64_t free, device.free_memory());
  const double bytes = need.set_bytes * static_cast<double>(need.sets);
  if (bytes <= static_cast<double>(free)) return {};
  const auto what =
      fmt::format("not enough GPU memory: {:.0f} bytes needed ({} input set(s) of {:.0f} bytes), {} bytes free", bytes,
                  need.sets, need.set_bytes, free);
  return with_code(
      environment_error(what, "choose smaller sizes, or end other processes that use the GPU (nvidia-smi lists them)"),
      ErrorCode::out_of_memory);
}

Status fill_uniform(device::Stream stream, const DeviceArray& array, const RandomStream& random) {
  const bool whole = random.whole || array.type() == ElementType::int8 || array.type() == ElementType::int32;
  WM_CUDA(launch_fill_uniform(
      cuda_stream(stream),
      {.to = array.data(), .type = array.type(), .count = array.count(), .key = key_of(random), .whole = whole}));
  return {};
}

Status poison(device::Stream stream, const DeviceArray& array) {
  WM_CUDA(cudaMemsetAsync(array.data(), 0xFF, array.bytes(), cuda_stream(stream)));
  return {};
}

Result<double> relative_error(device::Device& device, const DeviceArray& out, const DeviceArray& reference) {
  WM_ASSIGN(const ErrorSums sums, error_sums(device, out, reference));
  const double scale = sums.reference_squares > 0 ? sums.reference_squares : 1;
  const double error = std::sqrt(sums.difference_squares / scale);
  return std::isfinite(error) ? error : kInfiniteError;
}

Result<double> count_different(device::Device& device, const DeviceArray& out, const DeviceArray& reference) {
  WM_ASSIGN(const ErrorSums sums, error_sums(device, out, reference));
  return sums.different;
}

Status convert(device::Stream stream, const DeviceArray& from, const DeviceArray& to) {
  WM_CHECK(from.count() == to.count());
  WM_CUDA(launch_convert(cuda_stream(stream), view_of(from), to.data(), to.type(), to.count()));
  return {};
}

}  // namespace warpmark::workloads
