#include "analyze/evidence/kernel_losses.h"

#include <algorithm>
#include <span>

#include "analyze/evidence/fitted.h"
#include "analyze/evidence/severity.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

constexpr double kLeastInDoubles = 0.02;  // of the step

bool has_tensor_cores(const RankEvidence& rank) {
  for (const GpuInfo& gpu : rank.timeline->gpus) {
    if (gpu.compute_major > 0 && gpu.compute_major < 7) return false;
  }
  return true;
}

/// Time a step of these works that need not be at all.
double needless_ns(const RankEvidence& rank, std::span<const std::size_t> works) {
  double sum = 0;
  for (const std::size_t i : works) {
    const GpuWork& work = rank.list.works[i];
    if (rank.in_steps(work)) sum += static_cast<double>(work.end - work.start) * (1 - rank.blame.share_left[i]);
  }
  return sum / rank.step_count();
}

/// Avoidable.
double own_passes_ns(const RankEvidence& rank) {
  double sum = 0;
  for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (rank.blame.owner[i] != Owner::memory_bandwidth || work.category != Category::other) continue;
    if (rank.in_steps(work)) sum += static_cast<double>(work.end - work.start) * (1 - rank.blame.share_left[i]);
  }
  return sum / rank.step_count();
}

}  // namespace

double math_ns(const RankEvidence& rank, MatrixMath math) {
  double sum = 0;
  for (const GpuWork& work : rank.list.works) {
    if (work.math == math && rank.in_steps(work)) sum += static_cast<double>(work.end - work.start);
  }
  return sum / rank.step_count();
}

std::vector<bool> works_in_doubles(const RankEvidence& rank) {
  const NameSet in_doubles(rank.timeline->names, is_in_doubles);
  std::vector<bool> found;
  for (const GpuWork& work : rank.list.works) {
    found.push_back(in_doubles.contains(rank.timeline->events.name[work.event]) && is_compute(work.category) &&
                    work.math == MatrixMath::none);
  }
  return found;
}

PrecisionLoss precision_loss_of(const RankEvidence& rank) {
  PrecisionLoss loss;
  if (has_tensor_cores(rank)) {
    loss.products_ns =
        std::max(rank.avoidable_ns(Owner::precision) - kTf32Forgiven * math_ns(rank, MatrixMath::tensor_tf32), 0.0);
  }
  const std::vector<bool> doubles = works_in_doubles(rank);
  for (std::size_t i = 0; i < doubles.size(); ++i) {
    const GpuWork& work = rank.list.works[i];
    if (doubles[i] && rank.in_steps(work))
      loss.in_doubles_ns += static_cast<double>(work.end - work.start) / rank.step_count();
  }
  const double step = rank.undisturbed_step_ns();
  if (loss.in_doubles_ns < kLeastInDoubles * step) loss.in_doubles_ns = 0;
  const double note = std::min(severity_of(loss.in_doubles_ns * (1 - kLeftInSingles), step), kPrecisionNoteAtMost);
  loss.of_doubles = loss.in_doubles_ns > 0 && (loss.products_ns <= 0 || note > severity_of(loss.products_ns, step));
  return loss;
}

Movement movement_of(const RankEvidence& rank) {
  Movement movement;
  movement.appending_ns = needless_ns(rank, rank.blame.appends);
  movement.one_hot_ns = needless_ns(rank, rank.blame.one_hots);
  const double needless = movement.appending_ns + movement.one_hot_ns;  // nothing of it takes a compiler
  movement.by_fusing_ns = std::max(0.0, rank.avoidable_ns(Owner::memory_bandwidth) - needless) * kSurelyReached;
  movement.own_passes_ns = own_passes_ns(rank) * kSurelyReached;
  return movement;
}

}  // namespace warpmark::analyze
