// What a larger batch would give, told from a small one.
#pragma once

#include <string>

#include "analyze/cures/rule.h"
#include "analyze/evidence/evidence.h"

namespace warpmark::analyze {

/// The smallest power of two times the batch beyond which twice as much gains less than a tenth, at least twice.
struct LargerBatch {
  int times = 2;            ///< as large
  bool fills = false;       ///< the GPU; else it is `most` times, and more would gain
  double samples_gain = 1;  ///< samples a second, over those of the recorded batch
};

/// At most `most` times the batch.
[[nodiscard]] LargerBatch larger_batch(const Evidence& evidence, int most);

/// A gain in samples a second as an interval: never more than as many times as the batch is larger.
[[nodiscard]] Gain gain_per_sample(const LargerBatch& larger, const Calibration& calibration, std::string method);

[[nodiscard]] int multiprocessors(const RankEvidence& rank);
/// Share of the GPU's multiprocessors that a kernel's blocks occupy; 1 if its shape is not known.
[[nodiscard]] double occupied(const RankEvidence& rank, const GpuWork& work, int sms);

/// Of a matrix kernel on tensor cores whose tile is narrower than 64 rows or columns the share of a full tile's work, 1
/// for all others: it reads its weights for few rows.
[[nodiscard]] double tile_filled(const RankEvidence& rank, const GpuWork& work);

}  // namespace warpmark::analyze
