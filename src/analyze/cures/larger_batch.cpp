// Model: whatever the batch the host does the same but for loading and uploading it, and so do the optimizer,
// collectives, and passes over weights (casts, gradients). Any other kernel needs of the GPU, per batch, what its time
// is beyond that of an empty kernel, on the multiprocessors that its blocks occupy; a larger batch first fills the
// others.
#include "analyze/cures/larger_batch.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/cures/fitted.h"
#include "analyze/names/kernel_names.h"
#include "analyze/names/operators.h"
#include "base/text.h"

namespace warpmark::analyze {

namespace {

constexpr double kStillGains = 1.1;  // of twice the batch
// A tile that is fewer than 64 rows or columns wide reads its weights for so few rows (8 for a single token, in
// cuBLAS's "nvjet_..._64x8_..."): one of 128 reads them once for as many times the rows.
constexpr double kFullTile = 128;

/// Weights are cast and nothing else is done to them; what is computed on activations is as large as they are. So casts
/// of a size that is hardly computed on are passes over weights, and so is what accumulates gradients.
class WeightPasses {
 public:
  explicit WeightPasses(const RankEvidence& rank)
      : rank_(rank),
        copies_(rank.timeline->names, is_conversion_kernel),
        accumulates_(rank.timeline->names, accumulates_gradients),
        a_thread_(told_by_names(rank.timeline->names, usual_elements_a_thread)) {
    for (const GpuWork& work : rank.list.works) {
      if (work.category != Category::elementwise || work.in_optimizer || accumulates(work)) continue;
      (converts(work) ? converted_ : computed_).push_back(elements_of(work));
    }
    std::sort(converted_.begin(), converted_.end());
    std::sort(computed_.begin(), computed_.end());
  }

  [[nodiscard]] bool contain(const GpuWork& work) const {
    if (accumulates(work)) return true;
    if (work.category != Category::elementwise || !converts(work)) return false;
    const double alike = elements_of(work) / 2;
    return at_least(converted_, alike) > 2 * at_least(computed_, alike);
  }

 private:
  [[nodiscard]] bool converts(const GpuWork& work) const {
    return copies_.contains(rank_.timeline->events.name[work.event]);
  }

  [[nodiscard]] bool accumulates(const GpuWork& work) const {
    return any_around(rank_.list, work.op,
                      [this](EventIndex at) { return accumulates_.contains(rank_.timeline->events.name[at]); });
  }

  [[nodiscard]] double elements_of(const GpuWork& work) const {
    return threads_of(*rank_.timeline, work) * a_thread_[rank_.timeline->events.name[work.event]];
  }

  static std::size_t at_least(const std::vector<double>& sorted, double size) {
    return static_cast<std::size_t>(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), size));
  }

  const RankEvidence& rank_;
  NameSet copies_;                 // kernels that convert between types
  NameSet accumulates_;            // ranges around the gradients of parameters
  std::vector<double> a_thread_;   // elements, by name
  std::vector<double> converted_;  // elements of each kernel, ascending
  std::vector<double> computed_;
};

/// Shorter side of the tile in a matrix kernel's name ("64x8" in nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT; cuBLAS, cuDNN
/// and CUTLASS name it first); kFullTile if there is none.
double tile_side(std::string_view name) {
  constexpr int kLeastSide = 8, kMostSide = 512;
  const auto number_at = [&name](std::size_t at) {
    int number = 0;
    for (; at < name.size() && is_digit(name[at]) && number < kMostSide * 10; ++at)
      number = number * 10 + (name[at] - '0');
    return number;
  };
  for (std::size_t x = name.find('x'); x != std::string_view::npos; x = name.find('x', x + 1)) {
    std::size_t first = x;
    while (first > 0 && is_digit(name[first - 1])) --first;
    const int a = number_at(first);
    const int b = number_at(x + 1);
    if (first < x && std::min(a, b) >= kLeastSide && std::max(a, b) <= kMostSide) return std::min(a, b);
  }
  return kFullTile;
}

/// However large the batch is.
bool blocks_are_channels(const RankEvidence& rank, const GpuWork& work) {
  return work.category == Category::normalization && has_block_a_channel(rank.timeline->name_of(work.event));
}

/// GPU time that every work needs per recorded batch once the GPU is full, ns; negative: the batch does not matter.
std::vector<double> needs_of(const RankEvidence& rank) {
  const int sms = std::max(1, multiprocessors(rank));
  const WeightPasses weights(rank);
  const EventColumns& events = rank.timeline->events;
  std::vector<double> needed_by_name(rank.timeline->names.size(), 0.0);  // 0: not looked at yet
  std::vector<double> needs;
  for (const GpuWork& work : rank.list.works) {
    const bool grows = is_compute(work.category) && work.category != Category::optimizer && !work.in_optimizer &&
                       !weights.contain(work);
    const bool matrix = work.category == Category::gemm || work.category == Category::convolution;
    double& needed = needed_by_name[events.name[work.event]];
    if (needed == 0) {
      needed = matrix ? std::min(kNeededByMatrix, tile_side(rank.timeline->name_of(work.event)) / kFullTile) : 1.0;
    }
    const double used = occupied(rank, work, sms) * needed;
    needs.push_back(grows ? std::max(0.0, static_cast<double>(work.end - work.start) - kEmptyKernelNs) * used : -1);
  }
  return needs;
}

using Needs = std::vector<std::vector<double>>;

Needs needs_of(const Evidence& evidence) {
  Needs needs;
  for (const RankEvidence& rank : evidence.ranks) needs.push_back(needs_of(rank));
  return needs;
}

double gain_of(const Evidence& evidence, const Needs& needs, int times) {
  Change change(evidence);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    change.ranks[r].host_scale[static_cast<std::size_t>(HostCause::data_loading)] *= times;
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      if (uploads(*rank.timeline, work)) change.ranks[r].duration_scale[i] *= static_cast<float>(times);
      if (needs[r][i] < 0) continue;
      const auto length = static_cast<double>(std::max<std::int64_t>(1, work.end - work.start));
      change.ranks[r].duration_scale[i] =
          static_cast<float>(std::max(length, kEmptyKernelNs + times * needs[r][i]) / length);
    }
  }
  return times * speedup_of(evidence, change);
}

}  // namespace

int multiprocessors(const RankEvidence& rank) {
  int count = 0;
  for (const GpuInfo& gpu : rank.timeline->gpus) count = std::max(count, gpu.sm_count);
  return count;
}

double occupied(const RankEvidence& rank, const GpuWork& work, int sms) {
  const EventColumns& events = rank.timeline->events;
  if (!is_compute(work.category) || events.kind[work.event] != EventKind::kernel) return 1;
  const LaunchShape& shape = rank.timeline->launch_shapes[events.detail[work.event]];
  const double blocks = static_cast<double>(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  if (blocks <= 0 || blocks >= sms || blocks_are_channels(rank, work)) return 1;
  return blocks / sms;
}

double tile_filled(const RankEvidence& rank, const GpuWork& work) {
  constexpr double kWideTile = 64;
  if (work.math != MatrixMath::tensor_half && work.math != MatrixMath::tensor_tf32) return 1;
  return std::min(1.0, tile_side(rank.timeline->name_of(work.event)) / kWideTile);
}

LargerBatch larger_batch(const Evidence& evidence, int most) {
  const Needs needs = needs_of(evidence);
  LargerBatch larger{2, false, gain_of(evidence, needs, 2)};
  while (!larger.fills && larger.times < most) {
    const int more = std::min(2 * larger.times, most);
    const double gain = gain_of(evidence, needs, more);
    larger.fills = gain < kStillGains * larger.samples_gain;
    if (!larger.fills) larger.times = more, larger.samples_gain = gain;
  }
  return larger;
}

Gain gain_per_sample(const LargerBatch& larger, const Calibration& calibration, std::string method) {
  Gain gain = gain_around(larger.samples_gain, calibration, std::move(method));
  gain.high = std::min<double>(gain.high, larger.times);
  gain.low = std::min(gain.low, gain.high);
  gain.per_sample = true;
  return gain;
}

}  // namespace warpmark::analyze
