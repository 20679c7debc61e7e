// patch_scores in fp64.
#include <array>
#include <cmath>

#include "base/check.h"
#include "workloads/vision/constants.h"
#include "workloads/vision/reference.h"

namespace warpmark::workloads::vision {
namespace {

constexpr double kScoreTolerance = 1e-5;

double length(double x, double y) { return std::sqrt(x * x + y * y); }

/// Of one patch, from its pixels' planes: `at(plane, pixel)`.
template <typename At>
void score_patch(const At& at, double (&scores)[kPerspectives]) {
  constexpr std::size_t kPixels = ScoreShape::kPatchSide * ScoreShape::kPatchSide;
  double edges = 0, colour = 0, lightness = 0, squares = 0;
  for (std::size_t i = 0; i < kPixels; ++i) {
    edges += length(at(3, i), at(4, i));
    colour += length(at(1, i), at(2, i));
    lightness += at(0, i);
  }
  for (std::size_t i = 0; i < kPixels; ++i) squares += std::pow(at(0, i) - lightness / kPixels, 2);
  scores[0] = edges / kPixels;
  scores[1] = colour / kPixels;
  scores[2] = std::sqrt(squares / kPixels);
}

}  // namespace

std::vector<double> patch_scores_reference(const ScoreShape& shape, std::span<const float> texture) {
  WM_CHECK(texture.size() == kTextureOutputs * shape.plane());
  const std::size_t row = shape.row_of_patches(), n = shape.n(), side = static_cast<std::size_t>(shape.side);
  constexpr std::size_t kSide = ScoreShape::kPatchSide;
  std::vector<double> all(kPerspectives * n);
  for (std::size_t patch = 0; patch < n; ++patch) {
    const std::size_t corner = (patch / row) * kSide * side + (patch % row) * kSide;
    double scores[kPerspectives];
    score_patch(
        [&](std::size_t plane, std::size_t i) -> double {
          return texture[plane * shape.plane() + corner + (i / kSide) * side + i % kSide];
        },
        scores);
    for (std::size_t p = 0; p < kPerspectives; ++p) all[p * n + patch] = scores[p];
  }
  return all;
}

ErrorCheck patch_scores_check(const ScoreShape& shape, const ScoreArrays& arrays) {
  const std::size_t in = kTextureOutputs * shape.plane(), n = shape.n();
  std::vector<std::array<stats::ErrorNorm, kPerspectives>> images(static_cast<std::size_t>(shape.batch));
#pragma omp parallel for schedule(static)
  for (std::size_t image = 0; image < images.size(); ++image) {
    const auto expected = patch_scores_reference(shape, arrays.texture.subspan(image * in, in));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      images[image][i / n].add(arrays.scores_out[image * kPerspectives * n + i], expected[i]);
    }
  }
  double worst = 0;
  for (std::size_t p = 0; p < kPerspectives; ++p) {
    stats::ErrorNorm norm;
    for (const auto& image : images) norm.merge(image[p]);
    if (!(norm.value() <= worst)) worst = norm.value();
  }
  return {.value = worst,
          .tolerance = kScoreTolerance,
          .norm = "largest relative Frobenius norm of the 3 perspectives; 1e300 if not finite",
          .reference = "fp64 on the CPU"};
}

}  // namespace warpmark::workloads::vision
