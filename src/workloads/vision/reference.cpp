#include "workloads/vision/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "base/result.h"
#include "workloads/vision/constants.h"

namespace warpmark::workloads::vision {
namespace {

constexpr double kTextureTolerance = 1e-5;
constexpr double kRelevanceTolerance = 1e-5;

double linear_from_srgb(double c) {
  return c <= kSrgbThreshold ? c / kSrgbSlope : std::pow((c + kSrgbOffset) / (1.0 + kSrgbOffset), kSrgbExponent);
}

double lab_curve(double t) { return t > kLabThreshold ? std::cbrt(t) : kLabSlope * t + kLabOffset; }

/// Most relevant first, ties by index; NaN last.
bool more_relevant(std::span<const float> scores, std::int32_t a, std::int32_t b) {
  const float x = scores[static_cast<std::size_t>(a)];
  const float y = scores[static_cast<std::size_t>(b)];
  if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
  if (x > y || x < y) return x > y;
  return a < b;
}

std::vector<std::int32_t> by_relevance(std::span<const float> scores) {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return more_relevant(scores, a, b); });
  return order;
}

/// (s - mean) / sqrt(population variance + epsilon)
std::vector<double> standardized(std::span<const float> scores) {
  const auto count = static_cast<double>(scores.size());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / count;
  double squares = 0;
  for (const float s : scores) squares += (s - mean) * (s - mean);
  const double scale = 1.0 / std::sqrt(squares / count + kVarianceEpsilon);
  std::vector<double> z;
  for (const float s : scores) z.push_back((s - mean) * scale);
  return z;
}

double balanced(const double (&t)[kOpponentPairs]) {
  double weights = 0;
  double sum = 0;
  for (const double tension : t) {
    weights += std::exp(std::fabs(tension));
    sum += std::exp(std::fabs(tension)) * tension;
  }
  return sum / weights;
}

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

void texture_reference(std::int64_t h, std::int64_t w, std::span<const float> rgb, std::span<double> out) {
  const auto plane = static_cast<std::size_t>(h * w);
  WM_CHECK(rgb.size() == kTextureInputs * plane && out.size() == kTextureOutputs * plane);
  for (std::size_t i = 0; i < plane; ++i) {
    const double linear[3] = {linear_from_srgb(rgb[i]), linear_from_srgb(rgb[plane + i]),
                              linear_from_srgb(rgb[2 * plane + i])};
    double f[3];
    for (int row = 0; row < 3; ++row) {
      const double value =
          kRgbToXyz[row][0] * linear[0] + kRgbToXyz[row][1] * linear[1] + kRgbToXyz[row][2] * linear[2];
      f[row] = lab_curve(value / kWhite[row]);
    }
    out[i] = 116.0 * f[1] - 16.0;
    out[plane + i] = 500.0 * (f[0] - f[1]);
    out[2 * plane + i] = 200.0 * (f[1] - f[2]);
  }
  const auto lightness = [&](std::int64_t y, std::int64_t x) {
    return out[static_cast<std::size_t>(std::clamp<std::int64_t>(y, 0, h - 1) * w +
                                        std::clamp<std::int64_t>(x, 0, w - 1))];
  };
  for (std::int64_t y = 0; y < h; ++y) {
    for (std::int64_t x = 0; x < w; ++x) {
      double gradient_x = 0;
      double gradient_y = 0;
      for (int i = -1; i <= 1; ++i) {
        const double weight = i == 0 ? 2.0 : 1.0;
        gradient_x += weight * (lightness(y + i, x + 1) - lightness(y + i, x - 1));
        gradient_y += weight * (lightness(y + 1, x + i) - lightness(y - 1, x + i));
      }
      out[3 * plane + static_cast<std::size_t>(y * w + x)] = gradient_x;
      out[4 * plane + static_cast<std::size_t>(y * w + x)] = gradient_y;
    }
  }
}

void add_texture_errors(std::int64_t h, std::int64_t w, std::span<const float> rgb, std::span<const float> out,
                        std::span<stats::ErrorNorm, kTextureOutputs> errors) {
  const auto plane = static_cast<std::size_t>(h * w);
  std::vector<double> expected(kTextureOutputs * plane);
  texture_reference(h, w, rgb, expected);
  for (std::size_t channel = 0; channel < kTextureOutputs; ++channel) {
    for (std::size_t i = channel * plane; i < (channel + 1) * plane; ++i) errors[channel].add(out[i], expected[i]);
  }
}

ErrorCheck texture_check(std::span<const double, kTextureOutputs> errors, std::string reference) {
  const double worst = *std::max_element(errors.begin(), errors.end());
  return {.value = worst,
          .tolerance = kTextureTolerance,
          .norm = "largest relative Frobenius norm of the 5 channels; 1e300 if not finite",
          .reference = std::move(reference)};
}

std::vector<std::int32_t> top_k_reference(std::span<const float> scores, std::size_t k) {
  auto order = by_relevance(scores);
  WM_CHECK(k <= order.size());
  order.resize(k);
  return order;
}

ErrorCheck top_k_check(const PatchShape& shape, const PatchArrays& arrays) {
  const auto n = static_cast<std::size_t>(shape.n);
  const auto k = static_cast<std::size_t>(shape.k);
  const auto element = static_cast<std::size_t>(shape.element_bytes);
  const std::size_t row = shape.row_bytes();
  std::int64_t wrong = 0;
  for (std::size_t image = 0; image < static_cast<std::size_t>(shape.batch); ++image) {
    const auto expected = top_k_reference(arrays.scores.subspan(image * n, n), k);
    for (std::size_t rank = 0; rank < k; ++rank) {
      const std::byte* from = arrays.features.data() + (image * n + static_cast<std::size_t>(expected[rank])) * row;
      const std::byte* to = arrays.features_out.data() + (image * k + rank) * row;
      wrong += arrays.indices_out[image * k + rank] != expected[rank];
      if (std::memcmp(from, to, row) == 0) continue;
      for (std::size_t at = 0; at < row; at += element) wrong += std::memcmp(from + at, to + at, element) != 0;
    }
  }
  return {.value = static_cast<double>(wrong),
          .tolerance = 0,
          .norm = "indices and features that differ, bit for bit",
          .reference = "a full sort of each image's scores on the CPU, ties by index"};
}

std::vector<double> relevance_reference(std::span<const float> scores) {
  const std::size_t n = scores.size() / kPerspectives;
  std::vector<double> z[kPerspectives];
  for (std::size_t p = 0; p < kPerspectives; ++p) z[p] = standardized(scores.subspan(p * n, n));
  std::vector<double> relevance(n);
  for (std::size_t patch = 0; patch < n; ++patch) {
    double tension[kOpponentPairs];
    for (int i = 0; i < kOpponentPairs; ++i) {
      double lean = kTensionBias[i];
      for (int p = 0; p < kPerspectives; ++p) lean += kTensionWeights[i][p] * z[p][patch];
      tension[i] = std::tanh(lean);
    }
    relevance[patch] = balanced(tension);
  }
  return relevance;
}

std::vector<std::int32_t> split_tokens(std::span<const float> relevance, std::int64_t budget) {
  const auto n = static_cast<std::int64_t>(relevance.size());
  WM_CHECK(n >= 1 && budget >= kMinTokens * n);
  const auto order = by_relevance(relevance);
  const auto share = [&](std::int64_t rank) {
    return token_share(relevance[static_cast<std::size_t>(order[static_cast<std::size_t>(rank)])]);
  };
  std::int64_t extra = std::min(budget, kMaxTokens * n) - kMinTokens * n;
  std::int64_t shares = 0;
  for (std::int64_t rank = 0; rank < n; ++rank) shares += share(rank);
  // Patches whose proportional part reaches the cap get the cap; what is left is proportional among the others.
  std::int64_t capped = 0;
  while (capped < n && extra * share(capped) >= kExtraTokens * shares) {
    extra -= kExtraTokens;
    shares -= share(capped);
    ++capped;
  }
  std::vector<std::int32_t> tokens(relevance.size(), static_cast<std::int32_t>(kMaxTokens));
  std::int64_t left = extra;
  for (std::int64_t rank = capped; rank < n; ++rank) left -= extra * share(rank) / shares;
  for (std::int64_t rank = capped; rank < n; ++rank) {
    const std::int64_t part = extra * share(rank) / shares + (rank - capped < left ? 1 : 0);
    tokens[static_cast<std::size_t>(order[static_cast<std::size_t>(rank)])] =
        static_cast<std::int32_t>(kMinTokens + part);
  }
  return tokens;
}

ErrorCheck balance_check(const BalanceShape& shape, const BalanceArrays& arrays) {
  const auto n = static_cast<std::size_t>(shape.n);
  stats::ErrorNorm error;
  bool finite = true;
  bool tokens_exact = true;
  for (std::size_t image = 0; image < static_cast<std::size_t>(shape.batch); ++image) {
    const auto relevance = arrays.relevance_out.subspan(image * n, n);
    const auto expected = relevance_reference(arrays.scores.subspan(image * n * kPerspectives, n * kPerspectives));
    for (std::size_t i = 0; i < n; ++i) {
      finite = finite && std::fabs(relevance[i]) <= 1.0F;
      error.add(relevance[i], expected[i]);
    }
    if (!finite) break;
    const auto tokens = split_tokens(relevance, shape.budget);
    tokens_exact = tokens_exact && std::equal(tokens.begin(), tokens.end(),
                                              arrays.tokens_out.begin() + static_cast<std::ptrdiff_t>(image * n));
  }
  return {.value = finite && tokens_exact ? error.value() : stats::kFailedError,
          .tolerance = kRelevanceTolerance,
          .norm =
              "relative Frobenius norm of the relevance; 1e300 if it is not finite or any token count differs from "
              "the exact split of that relevance",
          .reference = "fp64 relevance and integer split on the CPU"};
}

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
