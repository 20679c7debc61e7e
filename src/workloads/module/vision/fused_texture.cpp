// fused_texture on the GPU: `impl=fused` is one kernel, `impl=unfused` four with their intermediates in memory. The
// check evaluates the fp64 formulas on the GPU for every pixel.
#include <fmt/format.h>

#include <array>
#include <cmath>
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
using vision::TextureShape;

class TextureOnGpu final : public measure::Prepared {
 public:
  explicit TextureOnGpu(const measure::PrepareOptions& options)
      : device_(options.device), shape_(vision::texture_shape(options.params)) {}

  Status create(const measure::PrepareOptions& options) {
    const double floats = vision::kTextureInputs + vision::kTextureOutputs + (shape_.fused ? 0 : 6);
    WM_TRY(require_memory(
        device_, {.sets = options.sets, .set_bytes = floats * sizeof(float) * static_cast<double>(shape_.pixels())}));
    for (std::size_t i = 0; i < options.sets; ++i) WM_TRY(add_set(options.seed));
    return poison();
  }

  Status launch(device::Stream stream, std::size_t set) override {
    if (shape_.fused) {
      WM_CUDA(vision::launch_fused_texture(cuda_stream(stream), shape_, sets_[set].buffers));
    } else {
      WM_CUDA(vision::launch_unfused_texture(cuda_stream(stream), shape_, sets_[set].buffers));
    }
    return {};
  }

  Status poison() override {
    for (const Set& set : sets_) WM_TRY(workloads::poison(device_.stream(), set.out));
    return device_.synchronize();
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override { return sets_[set].out.span(); }

  Result<ErrorCheck> check(std::size_t index) override {
    const Set& set = sets_[index];
    const cudaStream_t stream = cuda_stream(device_.stream());
    WM_ASSIGN(const auto expected, DeviceArray::make(device_, set.out.count(), ElementType::f64));
    WM_CUDA(vision::launch_texture_reference(stream, shape_, set.buffers.rgb, expected.as<double>()));
    std::array<vision::ChannelSquares, vision::kTextureOutputs * vision::kSquareParts> squares{};
    WM_ASSIGN(const auto buffer, device_.allocate(sizeof squares));
    WM_CUDA(vision::launch_channel_squares(stream, shape_, set.buffers.out, expected.as<double>(),
                                           static_cast<vision::ChannelSquares*>(buffer->data())));
    WM_TRY(device_.read(*buffer, 0, std::as_writable_bytes(std::span(squares))));
    std::array<double, vision::kTextureOutputs> errors{};
    for (std::size_t channel = 0; channel < errors.size(); ++channel) {
      errors[channel] = relative(std::span(squares).subspan(channel * vision::kSquareParts, vision::kSquareParts));
    }
    return vision::texture_check(errors, "fp64 on the GPU");
  }

 private:
  struct Set {
    DeviceArray rgb;
    DeviceArray out;
    DeviceArray between;  ///< unfused: linear RGB, then XYZ
    vision::TextureBuffers buffers{};
  };

  Status add_set(std::uint64_t seed) {
    const auto pixels = static_cast<std::int64_t>(shape_.pixels());
    const std::size_t index = sets_.size();
    Set& set = sets_.emplace_back();
    WM_ASSIGN(set.rgb, DeviceArray::make(device_, pixels * 3, ElementType::f32));
    WM_ASSIGN(set.out, DeviceArray::make(device_, pixels * 5, ElementType::f32));
    set.buffers = {.rgb = set.rgb.as<float>(), .out = set.out.as<float>(), .linear = nullptr, .xyz = nullptr};
    if (!shape_.fused) {
      WM_ASSIGN(set.between, DeviceArray::make(device_, pixels * 6, ElementType::f32));
      set.buffers.linear = set.between.as<float>();
      set.buffers.xyz = set.buffers.linear + 3 * pixels;
    }
    std::vector<float> rgb(static_cast<std::size_t>(pixels * 3));
    stats::fill_uniform(std::span(rgb), vision::array_seed(seed, index, 0), 0.0F, 1.0F);
    return vision::upload(device_, set.rgb, std::as_bytes(std::span(rgb)));
  }

  static double relative(std::span<const vision::ChannelSquares> parts) {
    vision::ChannelSquares total{};
    for (const auto& part : parts) {
      total.difference += part.difference;
      total.reference += part.reference;
    }
    if (total.difference == 0) return 0;
    const double ratio = std::sqrt(total.difference / total.reference);
    return std::isfinite(ratio) ? ratio : kInfiniteError;
  }

  device::Device& device_;
  TextureShape shape_;
  std::vector<Set> sets_;
};

// Far from 2^31 blocks in every kernel; an index of a block and of a pixel fits an int.
constexpr double kMostPixels = 2147483647.0;

device::Support supports_fused_texture(const DeviceInfo& /*device*/, const Params& params) {
  const TextureShape shape = vision::texture_shape(params);
  constexpr std::int64_t kMost = INT32_MAX;
  const double pixels = static_cast<double>(shape.n) * static_cast<double>(shape.h) * static_cast<double>(shape.w);
  if (shape.h > kMost || shape.w > kMost || pixels > kMostPixels) {
    return device::Support::no(
        fmt::format("n={} h={} w={} are more blocks than one launch can have", shape.n, shape.h, shape.w),
        "choose a smaller shape with --set");
  }
  return device::Support::yes();
}

}  // namespace

extern const CudaImplementation kCudaFusedTexture{"fused_texture", supports_fused_texture,
                                                  prepare_created<TextureOnGpu>};

}  // namespace warpmark::workloads
