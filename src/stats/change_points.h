// Where did a series of results change? E-divisive means: the split with the largest energy statistic (Matteson, James,
// J. Am. Stat. Assoc. 109, 2014) over sliding windows, kept where Student's t test finds the two sides different, then
// merged until all that is left is significant and large enough (Fleming et al., "Hunter: Using Change Point Detection
// to Hunt for Performance Regressions", ICPE 2023; the tool lives on as Apache Otava).
//
// Two corrections to the published program, which `published` undoes: standard deviations use n - 1, and a change point
// that is merged away updates both of its neighbours.
//
// `autocorrelation` is our own: results of successive commits resemble each other (a warm room, a neighbour on the
// host), which makes constant series look full of changes. How much they do is estimated from what the changes leave,
// with a margin, and steps are tested by generalised least squares (drift.h). One session never shows a
// change: what is significant must be so without the session on either side that speaks most for it, and a session
// that alone differs from those before and after it is set aside (means and standard deviations are without it), and so
// is the newest one where it hides what the others show. A level that comes and goes is found: a weak point is tested
// against as many values as its energy is largest with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace warpmark::stats {

struct ChangePointOptions {
  std::int64_t window = 50;
  double max_p = 0.001;
  double min_magnitude = 0.05;  ///< smallest relative change that counts
  bool autocorrelation = true;
  bool published = false;  ///< as Otava computes it, without the corrections
};

struct ChangePoint {
  std::int64_t index = 0;  ///< of the first value after the change
  double p = 1;
  double mean_before = 0;  ///< from the change point before this one, or the start
  double mean_after = 0;   ///< up to the next one, or the end
  /// The larger of |after / before - 1| and |before / after - 1|; infinite from or to 0.
  [[nodiscard]] double magnitude() const;
};

/// In order of their index. Values must be finite. O(n window) time but for merging, O(window^2) memory.
[[nodiscard]] std::vector<ChangePoint> change_points(std::span<const double> series,
                                                     const ChangePointOptions& options = {});

}  // namespace warpmark::stats
