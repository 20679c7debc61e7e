// How well change points agree with those of several people, by the two measures of the Turing Change Point Dataset:
// F1 with a margin, and the covering of the annotated segments (van den Burg, Williams, "An Evaluation of Change Point
// Detection Algorithms", arXiv 2003.06222, section 4). Used by the tests and by bench/change_point_score.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

namespace warpmark::stats {

using Places = std::set<std::int64_t>;

/// Of `wanted`, how many have a place of their own in `found` within the margin.
inline double matched(const Places& wanted, Places found, std::int64_t margin) {
  double count = 0;
  for (const auto place : wanted) {
    const auto distance = [&](std::int64_t other) { return std::llabs(other - place); };
    const auto nearest = std::min_element(found.begin(), found.end(),
                                          [&](auto left, auto right) { return distance(left) < distance(right); });
    if (nearest == found.end() || distance(*nearest) > margin) continue;
    found.erase(nearest);
    ++count;
  }
  return count;
}

/// The start counts as a change point of everybody, so that no change at all can be right. Precision is against what
/// anybody marked, recall the mean over the annotators.
inline double f1_score(const std::vector<Places>& annotators, Places found, std::int64_t margin = 5) {
  found.insert(0);
  Places anybody;
  double recall = 0;
  for (auto places : annotators) {
    places.insert(0);
    anybody.insert(places.begin(), places.end());
    recall +=
        matched(places, found, margin) / static_cast<double>(places.size()) / static_cast<double>(annotators.size());
  }
  const double precision = matched(anybody, found, margin) / static_cast<double>(found.size());
  return 2 * precision * recall / (precision + recall);
}

/// Begins of segments, and n as the end of the last one.
inline std::vector<std::int64_t> borders(Places places, std::int64_t n) {
  places.insert(0);
  places.insert(n);
  return {places.begin(), places.end()};
}

/// Mean over the annotators of how well their segments are covered: for each the largest Jaccard index with a found
/// one, weighted by length.
inline double covering(const std::vector<Places>& annotators, const Places& found, std::int64_t n) {
  const auto ours = borders(found, n);
  double sum = 0;
  for (const auto& annotator : annotators) {
    const auto theirs = borders(annotator, n);
    for (std::size_t i = 0; i + 1 < theirs.size(); ++i) {
      double best = 0;
      for (std::size_t k = 0; k + 1 < ours.size(); ++k) {
        const auto shared = std::min(theirs[i + 1], ours[k + 1]) - std::max(theirs[i], ours[k]);
        const auto either = std::max(theirs[i + 1], ours[k + 1]) - std::min(theirs[i], ours[k]);
        if (shared > 0) best = std::max(best, static_cast<double>(shared) / static_cast<double>(either));
      }
      sum += best * static_cast<double>(theirs[i + 1] - theirs[i]) / static_cast<double>(n);
    }
  }
  return sum / static_cast<double>(annotators.size());
}

}  // namespace warpmark::stats
