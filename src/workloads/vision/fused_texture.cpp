// fused_texture: sRGB to CIELAB and the Sobel gradients of L*, in one pass over memory (`impl=fused`) or in one pass a
// step (`impl=unfused`, the baseline). Formulas: docs/workloads.md.
#include <omp.h>

#include <array>
#include <vector>

#include "workloads/cuda_bridge.h"
#include "workloads/set_memory.h"
#include "workloads/shape.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/shapes.h"
#include "workloads/vision/simd_kernels.h"
#include "workloads/vision/texture_cpu.h"

namespace warpmark::workloads {
namespace {

using measure::Prepared;
using vision::TextureShape;

constexpr ParamSpec kFusedTextureParams[] = {
    {"n", ParamKind::integer, "64", "images"},
    {"h", ParamKind::integer, "224", "height in pixels"},
    {"w", ParamKind::integer, "224", "width in pixels"},
    {"impl", ParamKind::text, "fused", "one pass over memory, or one a step", "fused|unfused"},
};

// A pixel: 3 x (add, multiply, power) to linear, 9 multiplications and 6 additions to XYZ / white, 3 cube roots, 6 to
// L*, a*, b*, and 2 x 7 for the Sobel filters' six taps. Powers and cube roots count 1 each.
constexpr double kFlopsPerPixel = 9 + 15 + 3 + 6 + 14;

enum FusedTextureArray : std::size_t {
  kFusedTextureRgb,
  kFusedTextureOut,
  kFusedTextureBetween
};  // kFusedTextureBetween: linear RGB, then XYZ, where unfused

class TextureOnCpu final : public Prepared {
 public:
  TextureOnCpu(const TextureShape& shape, SetMemory memory) : shape_(shape), memory_(std::move(memory)) {
    scratch_.assign(static_cast<std::size_t>(omp_get_max_threads()),
                    std::vector<float>(vision::texture_scratch(shape)));
  }

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    const vision::TextureArrays arrays{
        .rgb = memory_.array<float>(set, kFusedTextureRgb).data(),
        .out = memory_.array<float>(set, kFusedTextureOut).data(),
        .linear = memory_.array<float>(set, kFusedTextureBetween).data(),
        .xyz = memory_.array<float>(set, kFusedTextureBetween).data() + 3 * shape_.pixels()};
    if (shape_.fused) {
      vision::fused_texture_cpu(kernels_, shape_, arrays, scratch_);
    } else {
      vision::unfused_texture_cpu(kernels_, shape_, arrays, static_cast<int>(scratch_.size()));
    }
    return {};
  }

  Status poison() override {
    memory_.poison(kFusedTextureOut);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const std::size_t in = vision::kTextureInputs * shape_.plane();
    const std::size_t out = vision::kTextureOutputs * shape_.plane();
    const auto rgb = memory_.array<const float>(set, kFusedTextureRgb);
    const auto result = memory_.array<const float>(set, kFusedTextureOut);
    std::vector<std::array<stats::ErrorNorm, vision::kTextureOutputs>> images(static_cast<std::size_t>(shape_.n));
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < images.size(); ++i) {
      vision::add_texture_errors(shape_.h, shape_.w, rgb.subspan(i * in, in), result.subspan(i * out, out), images[i]);
    }
    std::array<double, vision::kTextureOutputs> errors{};
    for (std::size_t channel = 0; channel < errors.size(); ++channel) {
      stats::ErrorNorm norm;
      for (const auto& image : images) norm.merge(image[channel]);
      errors[channel] = norm.value();
    }
    return vision::texture_check(errors, "fp64 on the CPU");
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override {
    return memory_.bytes(set, kFusedTextureOut);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"instructions", kernels_.target}};
  }

 private:
  TextureShape shape_;
  SetMemory memory_;
  const vision::SimdKernels& kernels_ = vision::simd_kernels().front();
  std::vector<std::vector<float>> scratch_;  ///< one a thread
};

Result<Cost> fused_texture_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"n", "h", "w"}));
  const TextureShape shape = vision::texture_shape(params);
  const std::int64_t passes = vision::kTextureInputs + vision::kTextureOutputs;
  const std::int64_t between = shape.fused ? 0 : 6;
  WM_ASSIGN(
      const std::int64_t footprint,
      product_of(
          {{"n", shape.n}, {"h", shape.h}, {"w", shape.w}, {"channels", passes + between}, {"bytes", sizeof(float)}}));
  const auto pixels = static_cast<double>(shape.pixels());
  return Cost{.flops = kFlopsPerPixel * pixels,
              .bytes = static_cast<double>(passes) * sizeof(float) * pixels,
              .footprint_bytes = footprint,
              .flop_type = "f32",
              .link = {}};
}

Result<std::unique_ptr<Prepared>> prepare_fused_texture_cpu(const measure::PrepareOptions& options) {
  const TextureShape shape = vision::texture_shape(options.params);
  const std::size_t channel_bytes = shape.pixels() * sizeof(float);
  const std::array bytes{vision::kTextureInputs * channel_bytes, vision::kTextureOutputs * channel_bytes,
                         (shape.fused ? 0 : 6) * channel_bytes};
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, bytes));
  for (std::size_t set = 0; set < options.sets; ++set) {
    fill_random(memory.array<float>(set, kFusedTextureRgb), array_seed(options.seed, set, kFusedTextureRgb), 0.0F,
                1.0F);
  }
  memory.poison(kFusedTextureOut);
  return std::unique_ptr<Prepared>(std::make_unique<TextureOnCpu>(shape, std::move(memory)));
}

std::vector<Overrides> fused_texture_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend == "cpu") return {{{"n", "8"}}, {{"n", "8"}, {"impl", "unfused"}}};
  return {{}, {{"impl", "unfused"}}};
}

}  // namespace

extern const measure::Workload kFusedTexture{
    .id = "fused_texture",
    .summary = "sRGB to CIELAB and the Sobel gradients of L*, fused in one pass over memory",
    .params = kFusedTextureParams,
    .cost = fused_texture_cost,
    .supports = supports_by_backend<supports_every_cpu>,
    .prepare = prepare_by_backend<prepare_fused_texture_cpu>,
    .cases = fused_texture_cases,
    .default_mode = Mode::cold,
};

}  // namespace warpmark::workloads
