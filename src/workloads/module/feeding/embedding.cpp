// embedding on the GPU: rows gathered and added up by a kernel of our own. The table is drawn on the GPU, the numbers
// of the rows on the host, as on the CPU.

#include <cstdint>
#include <limits>
#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/feeding/cached_lookups.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/feeding/embedding_kernels.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

struct EmbeddingSet {
  DeviceArray table;
  DeviceArray sums;
  std::unique_ptr<device::Buffer> numbers;
  EmbeddingArrays arrays{};
};

class EmbeddingOnGpu final : public measure::Prepared {
 public:
  explicit EmbeddingOnGpu(const measure::PrepareOptions& options)
      : device_(options.device), shape_(embedding_shape(options.params)) {}

  Status create(const measure::PrepareOptions& options) {
    const double bytes = static_cast<double>(shape_.rows) * static_cast<double>(shape_.row_bytes()) +
                         static_cast<double>(shape_.bags) *
                             (8 * static_cast<double>(shape_.lookups) + 4 * static_cast<double>(shape_.dim));
    WM_TRY(require_memory(device_, {.sets = options.sets, .set_bytes = bytes}));
    for (std::size_t set = 0; set < options.sets; ++set) WM_TRY(add_set(options));
    return device_.synchronize();
  }

  Status launch(device::Stream stream, std::size_t set) override {
    WM_CUDA(launch_gather_sums(cuda_stream(stream), sets_[set].arrays));
    return {};
  }

  Status poison() override {
    for (const EmbeddingSet& set : sets_) WM_TRY(workloads::poison(device_.stream(), set.sums));
    return device_.synchronize();
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const EmbeddingSet& checked = sets_[set];
    WM_ASSIGN(const auto right, DeviceArray::make(device_, checked.sums.count(), ElementType::f64));
    WM_CUDA(launch_reference_sums(cuda_stream(device_.stream()), checked.arrays, right.as<double>()));
    WM_ASSIGN(const double error, relative_error(device_, checked.sums, right));
    return ErrorCheck{error, 1e-5, "relative Frobenius norm", "sums in fp64, all bags"};
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override { return {rows_}; }

 private:
  Status add_set(const measure::PrepareOptions& options) {
    const auto signed_of = [](std::size_t size) { return static_cast<std::int64_t>(size); };
    const std::size_t index = sets_.size();
    EmbeddingSet& set = sets_.emplace_back();
    const ElementType type = shape_.narrow ? ElementType::f16 : ElementType::f32;
    WM_ASSIGN(set.table, DeviceArray::make(device_, signed_of(shape_.rows * shape_.dim), type));
    WM_TRY(fill_uniform(device_.stream(), set.table, {.seed = options.seed, .set = index, .array = 0}));
    WM_ASSIGN(set.sums, DeviceArray::make(device_, signed_of(shape_.bags * shape_.dim), ElementType::f32));
    WM_TRY(workloads::poison(device_.stream(), set.sums));
    std::vector<std::int64_t> numbers(shape_.bags * shape_.lookups);
    fill_zipf(numbers, shape_.rows, options.params.number("skew"), options.seed * 1'000'003 + index);
    if (index == 0) rows_ = different_rows(numbers);
    WM_ASSIGN(set.numbers, device_.allocate(numbers.size() * sizeof(std::int64_t)));
    WM_TRY(device_.write(*set.numbers, 0, std::as_bytes(std::span(numbers))));
    set.arrays = {.table = set.table.data(),
                  .numbers = static_cast<const std::int64_t*>(set.numbers->data()),
                  .bags = {.sums = set.sums.as<float>(),
                           .bags = signed_of(shape_.bags),
                           .lookups = static_cast<int>(shape_.lookups),
                           .dim = static_cast<int>(shape_.dim),
                           .narrow = shape_.narrow}};
    return {};
  }

  device::Device& device_;
  EmbeddingShape shape_;
  std::vector<EmbeddingSet> sets_;
  std::pair<std::string, std::string> rows_;
};

/// A block has up to 256 bags, and there are up to 2^31 blocks; sizes of a row and of a bag are 32 bits in the kernel.
device::Support supports_embedding(const DeviceInfo& /*device*/, const Params& params) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (params.integer("dim") > kMost || params.integer("lookups") > kMost || params.integer("bags") > kMost) {
    return device::Support::no("embedding on the GPU has sizes below 2^31", "a smaller dim, lookups or bags");
  }
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaEmbedding{"embedding", supports_embedding, prepare_created<EmbeddingOnGpu>};

}  // namespace warpmark::workloads
