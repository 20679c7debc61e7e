// What of the kernels' time goes with a fix: products outside of tensor cores or in too wide a type, and kernels that
// only move data. Of one rank, ns a step.
#pragma once

#include <vector>

#include "analyze/evidence/facts.h"

namespace warpmark::analyze {

[[nodiscard]] double math_ns(const RankEvidence& rank, MatrixMath math);

/// FP64 to FP32 outside of tensor cores on data centre GPUs: 34 to 67 TFLOP/s (NVIDIA H100 data sheet), and half of the
/// bytes. Others have far fewer units for FP64.
inline constexpr double kLeftInSingles = 0.5;

/// Per work: a kernel of the program's own whose data is in doubles, and no product.
[[nodiscard]] std::vector<bool> works_in_doubles(const RankEvidence& rank);

/// A copy on the GPU or to another one that belongs to no chain of kernels.
[[nodiscard]] bool is_lone_copy(const RankEvidence& rank, std::size_t work);
/// Per work: ns of a kernel in which pages of managed memory migrate on demand; at most these it waits for them, as it
/// may go on with others. Empty if none migrate.
[[nodiscard]] std::vector<double> migrating_ns(const RankEvidence& rank);

struct PrecisionLoss {
  double products_ns = 0;    ///< of products and convolutions; 0 where the GPU has no tensor cores
  double around_ns = 0;      ///< of other kernels that move half of the bytes then
  double in_doubles_ns = 0;  ///< all time of other kernels in doubles; 0 if it is next to nothing
  bool of_doubles = false;   ///< these lose more than the products do: of both the larger loss is told
};
[[nodiscard]] PrecisionLoss precision_loss_of(const RankEvidence& rank);

}  // namespace warpmark::analyze
