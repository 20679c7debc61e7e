// top_k_patches on the GPU: one kernel. The check sorts every image's scores on the CPU and compares bit for bit.
#include <fmt/format.h>

#include <vector>

#include "device/cuda/module/cuda_device.h"
#include "device/cuda/module/cuda_handles.h"
#include "workloads/cuda_bridge.h"
#include "workloads/module/device_arrays.h"
#include "workloads/module/vision/vision_inputs.h"
#include "workloads/module/vision/vision_kernels.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/shapes.h"

namespace warpmark::workloads {
namespace {

using device::cuda_stream;
using vision::PatchShape;

class PatchesOnGpu final : public measure::Prepared {
 public:
  explicit PatchesOnGpu(const measure::PrepareOptions& options)
      : device_(options.device), shape_(vision::patch_shape(options.params)) {}

  Status create(const measure::PrepareOptions& options) {
    const double rows = static_cast<double>(shape_.scores() + shape_.indices());
    const double set_bytes = rows * (4.0 + static_cast<double>(shape_.row_bytes()));
    WM_TRY(require_memory(device_,
                          {.sets = options.sets, .set_bytes = set_bytes - static_cast<double>(options.given_bytes())}));
    for (std::size_t i = 0; i < options.sets; ++i) WM_TRY(add_set(options));
    return poison();
  }

  Status launch(device::Stream stream, std::size_t set) override {
    WM_CUDA(
        vision::launch_top_k_patches(cuda_stream(stream), shape_, sets_[set].buffers, device_.info().compute_units));
    return {};
  }

  Status poison() override {
    for (const Set& set : sets_) {
      WM_TRY(workloads::poison(device_.stream(), set.indices_out));
      WM_TRY(workloads::poison(device_.stream(), set.features_out));
    }
    return device_.synchronize();
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override { return sets_[set].indices_out.span(); }

  Result<ErrorCheck> check(std::size_t index) override {
    const Set& set = sets_[index];
    WM_ASSIGN(const auto scores, vision::download<float>(device_, set.scores));
    WM_ASSIGN(const auto features, vision::download<std::byte>(device_, set.features));
    WM_ASSIGN(const auto indices_out, vision::download<std::int32_t>(device_, set.indices_out));
    WM_ASSIGN(const auto features_out, vision::download<std::byte>(device_, set.features_out));
    return vision::top_k_check(
        shape_, {.scores = scores, .features = features, .indices_out = indices_out, .features_out = features_out});
  }

 private:
  struct Set {
    DeviceArray scores;
    DeviceArray features;
    DeviceArray indices_out;
    DeviceArray features_out;
    vision::PatchBuffers buffers{};
  };

  Status add_set(const measure::PrepareOptions& options) {
    const std::size_t index = sets_.size();
    const ElementType type = shape_.element_bytes == 2 ? ElementType::bf16 : ElementType::f32;
    const auto scores = static_cast<std::int64_t>(shape_.scores());
    const auto indices = static_cast<std::int64_t>(shape_.indices());
    Set& set = sets_.emplace_back();
    WM_ASSIGN(set.scores, DeviceArray::given_or_made(device_, options.given, index, scores, ElementType::f32));
    if (options.given.empty()) {
      std::vector<float> values(shape_.scores());
      vision::fill_scores_with_ties(values, vision::array_seed(options.seed, index, 0));
      WM_TRY(vision::upload(device_, set.scores, std::as_bytes(std::span(values))));
    }
    WM_ASSIGN(set.features, DeviceArray::make(device_, scores * shape_.d, type));
    WM_ASSIGN(set.indices_out, DeviceArray::make(device_, indices, ElementType::int32));
    WM_ASSIGN(set.features_out, DeviceArray::make(device_, indices * shape_.d, type));
    set.buffers = {.scores = set.scores.as<float>(),
                   .features = set.features.data(),
                   .indices_out = set.indices_out.as<std::int32_t>(),
                   .features_out = set.features_out.data()};
    std::vector<std::byte> features(set.features.bytes());
    vision::fill_features(features, shape_.element_bytes, vision::array_seed(options.seed, index, 1));
    return vision::upload(device_, set.features, features);
  }

  device::Device& device_;
  PatchShape shape_;
  std::vector<Set> sets_;
};

device::Support supports_top_k_patches(const DeviceInfo& /*device*/, const Params& params) {
  const PatchShape shape = vision::patch_shape(params);
  if (shape.n > vision::kMaxPatchesOnGpu) {
    return device::Support::no(fmt::format("n={} is above {}, the scores that one block keeps in shared memory",
                                           shape.n, vision::kMaxPatchesOnGpu),
                               fmt::format("set n to {} or less, or use --device cpu", vision::kMaxPatchesOnGpu));
  }
  constexpr double kMost = 2147483647.0;
  const auto k = static_cast<double>(shape.k);
  if (k * static_cast<double>(shape.d) > kMost || k * static_cast<double>(shape.batch) > kMost) {
    return device::Support::no(
        fmt::format("batch={} k={} d={} are more than one launch can index", shape.batch, shape.k, shape.d),
        "choose a smaller shape with --set");
  }
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaTopKPatches{"top_k_patches", supports_top_k_patches,
                                                 prepare_created<PatchesOnGpu>};

}  // namespace warpmark::workloads
