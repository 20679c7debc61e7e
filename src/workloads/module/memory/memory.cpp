// copy, triad, read and write: bandwidth of GPU memory, or of the L2 cache where the arrays fit it. f32 arrays of
// `size` bytes each. Results are exact, so the checks count elements that differ and tolerate none.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/memory/memory_kernels.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

constexpr float kScalar = 3.0F;  // STREAM's

enum class Operation { copy, triad, read, write };

struct MemorySet {
  DeviceArray out;
  DeviceArray in;
  DeviceArray more;
  MemoryArrays arrays{};
};

Result<double> read_number(device::Device& device, const device::Buffer& buffer) {
  long long number = 0;
  WM_TRY(device.read(buffer, 0, std::as_writable_bytes(std::span(&number, 1))));
  return static_cast<double>(number);
}

class PreparedMemory final : public measure::Prepared {
 public:
  PreparedMemory(device::Device& device, Operation operation) : device_(device), operation_(operation) {}

  Status create(const measure::PrepareOptions& options) {
    const std::int64_t bytes = options.params.integer("size");
    if (bytes < 4 || bytes % 4 != 0) {
      return usage_error(fmt::format("size={} is no whole number of 4-byte elements", bytes), "choose a multiple of 4");
    }
    const std::int64_t count = bytes / 4;
    constexpr std::array kArrays{2, 3, 1, 1};  // by Operation
    const int arrays = kArrays[static_cast<std::size_t>(operation_)];
    WM_TRY(require_memory(device_, {.sets = options.sets, .set_bytes = arrays * static_cast<double>(bytes)}));
    blocks_ = read_blocks(count, device_.info().compute_units);
    for (std::size_t set = 0; set < options.sets; ++set) WM_TRY(add_set(count, options.seed));
    return device_.synchronize();
  }

  Status launch(device::Stream stream, std::size_t set) override {
    const MemoryArrays& arrays = sets_[set].arrays;
    switch (operation_) {
      case Operation::copy: WM_CUDA(launch_copy(cuda_stream(stream), arrays)); break;
      case Operation::triad: WM_CUDA(launch_triad(cuda_stream(stream), arrays)); break;
      case Operation::read: WM_CUDA(launch_read(cuda_stream(stream), arrays, blocks_)); break;
      case Operation::write: WM_CUDA(launch_write(cuda_stream(stream), arrays)); break;
    }
    return {};
  }

  Status poison() override {
    for (const MemorySet& set : sets_) WM_TRY(workloads::poison(device_.stream(), set.out));
    return device_.synchronize();
  }

  Result<ErrorCheck> check(std::size_t set) override {
    return operation_ == Operation::read ? check_sum(sets_[set]) : check_elements(sets_[set]);
  }

 private:
  Status add_set(std::int64_t count, std::uint64_t seed) {
    MemorySet& set = sets_.emplace_back();
    const std::size_t index = sets_.size() - 1;
    const std::int64_t out_count = operation_ == Operation::read ? blocks_ : count;
    WM_ASSIGN(set.out, DeviceArray::make(device_, out_count, ElementType::f32));
    if (operation_ != Operation::write) {
      WM_ASSIGN(set.in, DeviceArray::make(device_, count, ElementType::f32));
      const bool whole = operation_ == Operation::read;  // its sum is then the same in any order
      WM_TRY(fill_uniform(device_.stream(), set.in, {.seed = seed, .set = index, .array = 0, .whole = whole}));
    }
    if (operation_ == Operation::triad) {
      WM_ASSIGN(set.more, DeviceArray::make(device_, count, ElementType::f32));
      WM_TRY(fill_uniform(device_.stream(), set.more, {.seed = seed, .set = index, .array = 1}));
    }
    set.arrays = {.out = set.out.as<float>(),
                  .in = set.in.as<float>(),
                  .more = set.more.as<float>(),
                  .count = count,
                  .scalar = kScalar + static_cast<float>(index)};
    return {};
  }

  Result<ErrorCheck> check_elements(const MemorySet& set) {
    const MemoryCheck check = operation_ == Operation::copy    ? MemoryCheck::copy
                              : operation_ == Operation::triad ? MemoryCheck::triad
                                                               : MemoryCheck::write;
    WM_ASSIGN(const auto counter, device_.allocate(sizeof(unsigned long long)));
    WM_TRY(device_.fill(*counter, 0, counter->size(), 0));
    WM_CUDA(launch_count_mismatches(cuda_stream(device_.stream()), check, set.arrays,
                                    static_cast<unsigned long long*>(counter->data())));
    WM_ASSIGN(const double mismatches, read_number(device_, *counter));
    return ErrorCheck{.value = mismatches,
                      .tolerance = 0,
                      .norm = "elements that differ",
                      .reference = "the same operation, element by element, on the GPU"};
  }

  Result<ErrorCheck> check_sum(const MemorySet& set) {
    WM_ASSIGN(const auto sum, device_.allocate(sizeof(long long)));
    WM_TRY(device_.fill(*sum, 0, sum->size(), 0));
    WM_CUDA(launch_whole_sum(cuda_stream(device_.stream()), set.arrays.in, set.arrays.count,
                             static_cast<long long*>(sum->data())));
    WM_ASSIGN(const double expected, read_number(device_, *sum));
    std::vector<float> partials(static_cast<std::size_t>(blocks_));
    WM_TRY(device_.read(*set.out.buffer(), 0, std::as_writable_bytes(std::span(partials))));
    double actual = 0;
    for (const float partial : partials) actual += static_cast<double>(partial);
    const double difference = std::fabs(actual - expected);
    return ErrorCheck{.value = std::isfinite(difference) ? difference : kInfiniteError,
                      .tolerance = 0,
                      .norm = "absolute difference of the sums of whole numbers (1e300 stands for NaN)",
                      .reference = "integer sum on the GPU"};
  }

  device::Device& device_;
  Operation operation_;
  int blocks_ = 1;  ///< of the read kernel
  std::vector<MemorySet> sets_;
};

template <Operation kOperation>
Result<std::unique_ptr<measure::Prepared>> prepare_memory(const measure::PrepareOptions& options) {
  auto prepared = std::make_unique<PreparedMemory>(options.device, kOperation);
  WM_TRY(prepared->create(options));
  return {std::move(prepared)};
}

device::Support supports_memory(const DeviceInfo&, const Params&) { return device::Support::yes(); }

}  // namespace

extern const CudaImplementation kCudaCopy, kCudaTriad, kCudaRead, kCudaWrite;

const CudaImplementation kCudaCopy{"copy", supports_memory, prepare_memory<Operation::copy>};
const CudaImplementation kCudaTriad{"triad", supports_memory, prepare_memory<Operation::triad>};
const CudaImplementation kCudaRead{"read", supports_memory, prepare_memory<Operation::read>};
const CudaImplementation kCudaWrite{"write", supports_memory, prepare_memory<Operation::write>};

}  // namespace warpmark::workloads
