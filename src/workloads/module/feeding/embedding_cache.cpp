// embedding_cache on the GPU: tables in page-locked memory of the host, held rows in the GPU's, one kernel for both.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/feeding/cached_lookups.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/feeding/embedding_cache_kernels.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;

std::int64_t signed_of(std::size_t size) { return static_cast<std::int64_t>(size); }

class CachedLookupsOnGpu final : public CachedLookups {
 public:
  CachedLookupsOnGpu(device::Device& device, const CachedShape& shape) : device_(device), shape_(shape) {}

  Status create(std::uint64_t seed) {
    const std::size_t held = std::max<std::size_t>(1, shape_.held());
    WM_TRY(require_memory(device_, {.sets = 1, .set_bytes = bytes_needed(held)}));
    WM_TRY(host_.create(shape_.all_rows() * shape_.row_bytes()));
    WM_TRY(draw_tables(seed));
    WM_ASSIGN(held_, device_.allocate(held * shape_.row_bytes()));
    WM_ASSIGN(entries_, device_.allocate(held * sizeof(RowEntry)));
    WM_ASSIGN(slots_, device_.allocate(shape_.all_rows() * sizeof(std::int32_t)));
    WM_ASSIGN(counts_, device_.allocate(shape_.all_rows() * sizeof(std::uint32_t)));
    WM_ASSIGN(numbers_, device_.allocate(shape_.batches * shape_.numbers() * sizeof(std::int32_t)));
    WM_ASSIGN(hits_, device_.allocate(sizeof(unsigned long long)));
    WM_ASSIGN(sums_, DeviceArray::make(device_, signed_of(shape_.sums() * shape_.dim), ElementType::f32));
    WM_TRY(device_.fill(*counts_, 0, counts_->size(), 0));
    tables_ = {.host = host_.data(),
               .held = held_->data(),
               .slots = static_cast<std::int32_t*>(slots_->data()),
               .row_bytes = signed_of(shape_.row_bytes())};
    bags_ = {.sums = sums_.as<float>(),
             .bags = signed_of(shape_.sums()),
             .lookups = static_cast<int>(shape_.lookups),
             .dim = static_cast<int>(shape_.dim),
             .narrow = shape_.narrow};
    WM_TRY(poison());
    return hold_nothing();
  }

  Status take_batch(std::span<const std::int32_t> numbers) override {
    WM_TRY(device_.write(*numbers_, taken_batches_ * numbers.size_bytes(), std::as_bytes(numbers)));
    ++taken_batches_;
    return {};
  }

  Status hold(std::span<const RowEntry> entries) override {
    WM_TRY(device_.write(*entries_, 0, std::as_bytes(entries)));
    WM_CUDA(launch_hold(cuda_stream(device_.stream()), tables_, static_cast<const RowEntry*>(entries_->data()),
                        signed_of(entries.size())));
    return {};
  }

  /// A row that was never brought in gives no right sum: slots hold NaN.
  Status hold_nothing() override {
    WM_TRY(device_.fill(*slots_, 0, slots_->size(), 0xFF));
    return device_.fill(*held_, 0, held_->size(), 0xFF);
  }

  Status launch(device::Stream stream, std::size_t batch) override {
    WM_CUDA(launch_cached_sums(cuda_stream(stream), tables_, numbers_of(batch), bags_));
    return {};
  }

  Status count(std::size_t batch) override {
    WM_CUDA(launch_count_rows(cuda_stream(device_.stream()), numbers_of(batch), signed_of(shape_.numbers()),
                              static_cast<std::uint32_t*>(counts_->data())));
    return {};
  }

  Result<std::span<const std::uint32_t>> take_counts() override {
    taken_counts_.resize(shape_.all_rows());
    WM_TRY(device_.read(*counts_, 0, std::as_writable_bytes(std::span(taken_counts_))));
    WM_TRY(device_.fill(*counts_, 0, counts_->size(), 0));
    return std::span<const std::uint32_t>(taken_counts_);
  }

  Result<std::uint64_t> hits(std::size_t batch) override {
    WM_TRY(device_.fill(*hits_, 0, hits_->size(), 0));
    WM_CUDA(launch_count_hits(cuda_stream(device_.stream()), tables_, numbers_of(batch), signed_of(shape_.numbers()),
                              static_cast<unsigned long long*>(hits_->data())));
    std::uint64_t hits = 0;
    WM_TRY(device_.read(*hits_, 0, std::as_writable_bytes(std::span(&hits, 1))));
    return hits;
  }

  Status poison() override {
    WM_TRY(workloads::poison(device_.stream(), sums_));
    return device_.synchronize();
  }

  Result<ErrorCheck> check(std::size_t batch) override {
    if (right_.count() == 0) {
      WM_ASSIGN(right_, DeviceArray::make(device_, sums_.count(), ElementType::f64));
    }
    WM_CUDA(launch_uncached_reference(cuda_stream(device_.stream()), tables_, numbers_of(batch), bags_,
                                      right_.as<double>()));
    WM_ASSIGN(const double error, relative_error(device_, sums_, right_));
    return ErrorCheck{error, 1e-5, "relative Frobenius norm", "sums in fp64 without a cache"};
  }

 private:
  [[nodiscard]] double bytes_needed(std::size_t held) const {
    const double of_rows = static_cast<double>(held) * static_cast<double>(shape_.row_bytes() + sizeof(RowEntry)) +
                           8 * static_cast<double>(shape_.all_rows());
    const double of_batches = 4 * static_cast<double>(shape_.batches) * static_cast<double>(shape_.numbers());
    return of_rows + of_batches + 12 * static_cast<double>(shape_.sums()) * static_cast<double>(shape_.dim);
  }

  /// On the GPU, table by table: processors would take minutes for what does not fit a GPU.
  Status draw_tables(std::uint64_t seed) {
    WM_ASSIGN(const auto table, DeviceArray::make(device_, signed_of(shape_.rows * shape_.dim),
                                                  shape_.narrow ? ElementType::f16 : ElementType::f32));
    auto* to = static_cast<std::byte*>(host_.data());
    for (std::size_t i = 0; i < shape_.tables; ++i) {
      WM_TRY(fill_uniform(device_.stream(), table, {.seed = seed, .set = 0, .array = static_cast<unsigned>(i)}));
      WM_TRY(device_.read(*table.buffer(), 0, {to + i * table.bytes(), table.bytes()}));
    }
    return {};
  }

  [[nodiscard]] const std::int32_t* numbers_of(std::size_t batch) const {
    return static_cast<const std::int32_t*>(numbers_->data()) + batch * shape_.numbers();
  }

  device::Device& device_;
  CachedShape shape_;
  device::PinnedMemory host_;
  std::unique_ptr<device::Buffer> held_, entries_, slots_, counts_, numbers_, hits_;
  DeviceArray sums_, right_;
  CachedTables tables_{};
  BagSums bags_{};
  std::size_t taken_batches_ = 0;
  std::vector<std::uint32_t> taken_counts_;
};

Result<std::unique_ptr<measure::Prepared>> prepare_embedding_cache(const measure::PrepareOptions& options) {
  auto prepared = std::make_unique<CachedLookupsOnGpu>(options.device, cached_shape(options.params));
  WM_TRY(prepared->create(options.seed));
  return {std::move(prepared)};
}

/// Sizes of a row and of a bag are 32 bits in the kernel; so is the number of its blocks.
device::Support supports_embedding_cache(const DeviceInfo& /*device*/, const Params& params) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (params.integer("dim") > kMost || params.integer("lookups") > kMost ||
      params.integer("bags") > kMost / std::max<std::int64_t>(1, params.integer("tables"))) {
    return device::Support::no("embedding_cache on the GPU has sizes below 2^31", "a smaller dim, lookups or bags");
  }
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaEmbeddingCache{"embedding_cache", supports_embedding_cache,
                                                    prepare_embedding_cache};

}  // namespace warpmark::workloads
