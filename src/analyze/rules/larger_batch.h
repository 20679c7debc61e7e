// What a larger batch would give, told from a small one.
#pragma once

#include "analyze/evidence.h"

namespace warpmark::analyze {

struct LargerBatch {
  int times = 1;            ///< as large
  double samples_gain = 1;  ///< samples a second, over those of the recorded batch
  int full_at = 1;  ///< smallest power of two times the batch beyond which twice as much gains less than a tenth
};

/// Forty-eight times the batch.
[[nodiscard]] LargerBatch larger_batch(const Evidence& evidence);

/// Samples a second with a batch `times` as large.
[[nodiscard]] double larger_batch_gain(const Evidence& evidence, int times);

[[nodiscard]] int multiprocessors(const RankEvidence& rank);
/// Share of the GPU's multiprocessors that a kernel's blocks occupy; 1 if its shape is not known.
[[nodiscard]] double occupied(const RankEvidence& rank, const GpuWork& work, int sms);

/// Of a matrix kernel on tensor cores whose tile is narrower than 64 rows or columns the share of a full tile's work, 1
/// for all others: it reads its weights for few rows.
[[nodiscard]] double tile_filled(const RankEvidence& rank, const GpuWork& work);

}  // namespace warpmark::analyze
