// patch_scores: three perspectives' scores of each patch of 16 x 16 pixels from its texture: how strong its edges are,
// how much colour it has, and how far its lightness spreads. Formulas: docs/workloads.md. On the CPU a row of patches
// is one task.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "workloads/cuda_bridge.h"
#include "workloads/set_memory.h"
#include "workloads/shape.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/reference.h"
#include "workloads/vision/shapes.h"

namespace warpmark::workloads {
namespace {

using measure::Prepared;
using vision::ScoreShape;

constexpr ParamSpec kPatchScoresParams[] = {
    {"batch", ParamKind::integer, "64", "images"},
    {"side", ParamKind::integer, "224", "of an image in pixels, a multiple of 16"},
};

// A pixel: 2 x (2 multiplications, 2 additions, a square root) for edges and colour, 1 for the mean of L* and 3 for its
// spread. A patch: 3 divisions and a square root. Square roots count 1 each.
constexpr double kScoreFlopsPerPixel = 5 + 5 + 1 + 3;
constexpr double kScoreFlopsPerPatch = 4;
constexpr std::int64_t kMostSide = 16384;

constexpr std::size_t kSide = ScoreShape::kPatchSide;

enum PatchScoresArray : std::size_t { kPatchScoresTexture, kPatchScoresScores };

/// Sums of a patch, column by column, so that each step is one operation on sixteen numbers.
struct Columns {
  std::array<float, kSide> sums{};
  [[nodiscard]] float mean() const {
    float all = 0;
    for (const float sum : sums) all += sum;
    return all / static_cast<float>(kSide * kSide);
  }
};

class ScoresOnCpu final : public Prepared {
 public:
  ScoresOnCpu(const ScoreShape& shape, SetMemory memory) : shape_(shape), memory_(std::move(memory)) {}

  Status launch(device::Stream /*stream*/, std::size_t set) override {
    const auto images = static_cast<std::size_t>(shape_.batch), rows = shape_.row_of_patches();
#pragma omp parallel for schedule(static) collapse(2)
    for (std::size_t image = 0; image < images; ++image) {
      for (std::size_t row = 0; row < rows; ++row) score_row(set, image, row);
    }
    return {};
  }

  Status poison() override {
    memory_.poison(kPatchScoresScores);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    return vision::patch_scores_check(shape_, {.texture = memory_.array<const float>(set, kPatchScoresTexture),
                                               .scores_out = memory_.array<const float>(set, kPatchScoresScores)});
  }

  [[nodiscard]] std::span<std::byte> stage_output(std::size_t set) override {
    return memory_.bytes(set, kPatchScoresScores);
  }

 private:
  void score_row(std::size_t set, std::size_t image, std::size_t row) const {
    const std::size_t plane = shape_.plane(), n = shape_.n(), patches = shape_.row_of_patches();
    const auto side = static_cast<std::size_t>(shape_.side);
    const float* first = memory_.array<float>(set, kPatchScoresTexture).data() +
                         image * vision::kTextureOutputs * plane + row * kSide * side;
    float* scores =
        memory_.array<float>(set, kPatchScoresScores).data() + image * vision::kPerspectives * n + row * patches;
    for (std::size_t patch = 0; patch < patches; ++patch) {
      const float* lightness = first + patch * kSide;
      scores[patch] = mean_length(lightness + 3 * plane, lightness + 4 * plane, side);
      scores[n + patch] = mean_length(lightness + plane, lightness + 2 * plane, side);
      scores[2 * n + patch] = deviation(lightness, side);
    }
  }

  static float mean_length(const float* x, const float* y, std::size_t side) {
    Columns lengths;
    for (std::size_t i = 0; i < kSide; ++i, x += side, y += side) {
      for (std::size_t j = 0; j < kSide; ++j) lengths.sums[j] += std::sqrt(x[j] * x[j] + y[j] * y[j]);
    }
    return lengths.mean();
  }

  static float deviation(const float* values, std::size_t side) {
    Columns all, squares;
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) all.sums[j] += values[i * side + j];
    }
    const float mean = all.mean();
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) {
        const float distance = values[i * side + j] - mean;
        squares.sums[j] += distance * distance;
      }
    }
    return std::sqrt(squares.mean());
  }

  ScoreShape shape_;
  SetMemory memory_;
};

Result<Cost> patch_scores_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"batch", "side"}));
  const ScoreShape shape = vision::score_shape(params);
  if (shape.side % ScoreShape::kPatchSide != 0 || shape.side > kMostSide) {
    return usage_error(fmt::format("side is {}, but must divide by {} and be up to {}", shape.side,
                                   ScoreShape::kPatchSide, kMostSide));
  }
  WM_ASSIGN(const std::int64_t texture, product_of({{"batch", shape.batch},
                                                    {"side", shape.side},
                                                    {"side", shape.side},
                                                    {"bytes of a pixel", vision::kTextureOutputs * sizeof(float)}}));
  const auto patches = static_cast<std::int64_t>(shape.n()) * shape.batch;
  const std::int64_t bytes = texture + patches * vision::kPerspectives * std::int64_t{sizeof(float)};
  return Cost{.flops = kScoreFlopsPerPixel * static_cast<double>(shape.pixels()) +
                       kScoreFlopsPerPatch * static_cast<double>(patches),
              .bytes = static_cast<double>(bytes),
              .footprint_bytes = bytes,
              .flop_type = "f32",
              .link = {}};
}

Result<std::unique_ptr<Prepared>> prepare_patch_scores_cpu(const measure::PrepareOptions& options) {
  const ScoreShape shape = vision::score_shape(options.params);
  const std::array bytes{vision::kTextureOutputs * shape.pixels() * sizeof(float),
                         vision::kPerspectives * shape.n() * static_cast<std::size_t>(shape.batch) * sizeof(float)};
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, bytes, options.given));
  for (std::size_t set = 0; set < options.sets && options.given.empty(); ++set) {
    fill_random(memory.array<float>(set, kPatchScoresTexture), array_seed(options.seed, set, kPatchScoresTexture),
                -100.0F, 100.0F);
  }
  memory.poison(kPatchScoresScores);
  return std::unique_ptr<Prepared>(std::make_unique<ScoresOnCpu>(shape, std::move(memory)));
}

std::vector<Overrides> patch_scores_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend == "cpu") return {{{"batch", "8"}}};
  return {{}};
}

}  // namespace

extern const measure::Workload kPatchScores{
    .id = "patch_scores",
    .summary = "three scores of each patch from its texture: edges, colour, spread of lightness",
    .params = kPatchScoresParams,
    .cost = patch_scores_cost,
    .supports = supports_by_backend<supports_every_cpu>,
    .prepare = prepare_by_backend<prepare_patch_scores_cpu>,
    .cases = patch_scores_cases,
    .default_mode = Mode::cold,
};

}  // namespace warpmark::workloads
