// The vision workloads in fp64 or exact integers, as docs/workloads.md states them, written for clarity: what the
// timed implementations are checked against. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/run.h"
#include "stats/error_norm.h"
#include "workloads/vision/shapes.h"

namespace warpmark::workloads::vision {

/// One image: sRGB planes [3, h, w] in [0, 1] to L*, a*, b*, Sobel x and Sobel y of L*, [5, h, w].
void texture_reference(std::int64_t h, std::int64_t w, std::span<const float> rgb, std::span<double> out);

/// Error of one image's [5, h, w] against texture_reference, one norm a channel.
void add_texture_errors(std::int64_t h, std::int64_t w, std::span<const float> rgb, std::span<const float> out,
                        std::span<stats::ErrorNorm, kTextureOutputs> errors);
/// The largest of the channels' relative errors against the workload's tolerance.
[[nodiscard]] ErrorCheck texture_check(std::span<const double, kTextureOutputs> errors, std::string reference);

/// One image: texture [5, side, side] to the scores of its patches [3, n].
[[nodiscard]] std::vector<double> patch_scores_reference(const ScoreShape& shape, std::span<const float> texture);

/// The whole batch: the largest of the three perspectives' relative errors against the workload's tolerance.
struct ScoreArrays {
  std::span<const float> texture;
  std::span<const float> scores_out;
};
[[nodiscard]] ErrorCheck patch_scores_check(const ScoreShape& shape, const ScoreArrays& arrays);

/// Indices of the k most relevant scores, most relevant first, equal scores by lower index. Zeros of both signs are
/// equal; NaN is below everything. k <= scores.size().
[[nodiscard]] std::vector<std::int32_t> top_k_reference(std::span<const float> scores, std::size_t k);

/// Elements (an index, or a feature) that differ from the exact result, over the whole batch.
struct PatchArrays {
  std::span<const float> scores;
  std::span<const std::byte> features;
  std::span<const std::int32_t> indices_out;
  std::span<const std::byte> features_out;
};
[[nodiscard]] ErrorCheck top_k_check(const PatchShape& shape, const PatchArrays& arrays);

/// One image: scores [3, n] to balanced relevance [n].
[[nodiscard]] std::vector<double> relevance_reference(std::span<const float> scores);

/// One image: min(budget, 400 n) tokens split over the patches of relevance r. budget >= 64 n.
[[nodiscard]] std::vector<std::int32_t> split_tokens(std::span<const float> relevance, std::int64_t budget);

/// Relevance within the tolerance of the reference, and tokens exactly split_tokens of the relevance that was put out.
struct BalanceArrays {
  std::span<const float> scores;
  std::span<const float> relevance_out;
  std::span<const std::int32_t> tokens_out;
};
[[nodiscard]] ErrorCheck balance_check(const BalanceShape& shape, const BalanceArrays& arrays);

}  // namespace warpmark::workloads::vision
