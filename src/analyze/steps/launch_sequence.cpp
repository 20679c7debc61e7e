// Two ways to find a period. By the spacing of single kinds of launches: bears any noise between them. By the share of
// launches that equal the one a period before: bears kinds that occur many times a period, at any distances. Trying
// every distance would take the square of a million launches; the rarest kinds tell which ones to try.
#include "analyze/steps/launch_sequence.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "analyze/recorded/scales.h"

namespace warpmark::analyze {
namespace {

using Launches = std::span<const std::uint32_t>;
using Positions = std::vector<std::size_t>;

/// By more than a tenth of what is expected.
bool differs(std::size_t length, std::size_t expected) {
  const std::size_t apart = length > expected ? length - expected : expected - length;
  return static_cast<double>(apart) > (1 - kNearlyAll) * static_cast<double>(expected);
}

std::map<std::uint32_t, Positions> positions_by_kind(Launches launches) {
  std::map<std::uint32_t, Positions> positions;
  for (std::size_t i = 0; i < launches.size(); ++i) positions[launches[i]].push_back(i);
  return positions;
}

struct Regular {
  std::size_t spacing = 0;
  std::size_t count = 0;
  std::size_t first = 0;
  std::uint32_t kind = 0;
};

/// Kinds whose occurrences are evenly spaced.
std::vector<Regular> regular_kinds(const std::vector<std::uint32_t>& launches) {
  std::vector<Regular> result;
  for (const auto& [kind, at] : positions_by_kind(launches)) {
    if (const std::size_t spacing = even_spacing(at)) result.push_back({spacing, at.size(), at.front(), kind});
  }
  return result;
}

/// The distance at which a kind most often occurs again for the `nth` time; 0 if it does not.
std::size_t usual_distance(const Positions& at, std::size_t nth) {
  std::vector<std::size_t> distances;
  for (std::size_t i = at.size(); i > nth; --i) {
    distances.push_back(at[i - 1] - at[i - 1 - nth]);
  }
  std::sort(distances.begin(), distances.end());
  std::size_t usual = 0;
  std::size_t most = 0;
  for (std::size_t first = 0, next = 0; first < distances.size(); first = next) {
    while (next < distances.size() && distances[next] == distances[first]) ++next;
    if (next - first > most) usual = distances[first];
    most = std::max(most, next - first);
  }
  return usual;
}

/// Periods worth a try, ascending: a kind that occurs a few times a period is at a period's distance from itself.
std::set<std::size_t> possible_periods(Launches launches) {
  std::vector<Positions> kinds;
  for (auto& [kind, at] : positions_by_kind(launches)) {
    if (at.size() >= kFewest) kinds.push_back(std::move(at));
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Positions& left, const Positions& right) { return left.size() < right.size(); });
  if (kinds.size() > kFewLaunches) kinds.resize(kFewLaunches);
  std::set<std::size_t> periods;
  for (const Positions& at : kinds) {
    for (std::size_t nth = 1; nth <= kFewLaunches; ++nth) {
      const std::size_t distance = usual_distance(at, nth);
      if (distance >= 2 && distance * kFewest <= launches.size()) periods.insert(distance);
    }
  }
  return periods;
}

/// Launches that differ from the one a period before, counted until there are more than `most`.
std::size_t differences_from_earlier(Launches launches, std::size_t period, std::size_t most) {
  std::size_t count = 0;
  for (std::size_t i = period; i < launches.size() && count <= most; ++i) {
    count += launches[i] == launches[i - period] ? 0U : 1U;
  }
  return count;
}

/// The shortest period under which one launch of ten differs at most, unless a longer one fits far better: what a step
/// repeats within itself differs from the step in little more than its ends.
std::size_t matching_period(Launches launches) {
  constexpr std::size_t kFarBetter = kFewest;  // times fewer differences
  std::size_t best = 0;
  std::size_t fewest = 0;
  for (const std::size_t period : possible_periods(launches)) {
    const std::size_t allowed =
        best == 0 ? static_cast<std::size_t>((1 - kNearlyAll) * static_cast<double>(launches.size() - period))
                  : fewest / kFarBetter;
    const std::size_t found = differences_from_earlier(launches, period, allowed);
    if (found > allowed) continue;
    best = period;
    fewest = found;
    if (found < kFarBetter) break;
  }
  return best;
}

Positions occurrences(Launches launches, Launches wanted) {
  Positions found;
  for (auto at = launches.begin();; ++at) {
    at = std::search(at, launches.end(), wanted.begin(), wanted.end());
    if (at == launches.end()) return found;
    found.push_back(static_cast<std::size_t>(at - launches.begin()));
  }
}

/// What irregular start-up holds of the marker goes: the periods begin with the first one of the right length.
void leave_out_irregular_start(Positions& boundaries, std::size_t period) {
  std::size_t first = 0;
  while (first + 1 < boundaries.size() && differs(boundaries[first + 1] - boundaries[first], period)) ++first;
  boundaries.erase(boundaries.begin(), boundaries.begin() + static_cast<std::ptrdiff_t>(first));
}

/// Where one launch, or the fewest in a row, is met that occurs once in the period from `from` on.
Positions marked_from(Launches launches, std::size_t from, std::size_t period) {
  std::size_t tries = 0;
  const std::size_t longest = std::min(period, kQueueDepth);
  for (std::size_t length = 1; length <= longest; length *= 2) {
    std::map<std::vector<std::uint32_t>, std::size_t> counts;
    const auto marker_at = [&](std::size_t i) { return launches.subspan(i, length); };
    for (std::size_t i = from; i < from + period && i + length <= launches.size(); ++i) {
      ++counts[{marker_at(i).begin(), marker_at(i).end()}];
    }
    for (std::size_t i = from; i < from + period && i + length <= launches.size() && tries < kShown; ++i) {
      if (counts[{marker_at(i).begin(), marker_at(i).end()}] != 1) continue;
      ++tries;
      Positions boundaries = occurrences(launches, marker_at(i));
      leave_out_irregular_start(boundaries, period);
      if (!differs(even_spacing(boundaries), period)) return boundaries;
    }
  }
  return {};
}

}  // namespace

std::size_t even_spacing(const std::vector<std::size_t>& positions) {
  if (positions.size() < kFewest) return 0;
  std::vector<std::size_t> gaps;
  for (std::size_t i = 1; i < positions.size(); ++i) gaps.push_back(positions[i] - positions[i - 1]);
  std::sort(gaps.begin(), gaps.end());
  const std::size_t median = gaps[gaps.size() / 2];
  const auto uneven = std::ranges::count_if(gaps, [median](std::size_t gap) { return differs(gap, median); });
  return static_cast<std::size_t>(uneven) * kFewest <= gaps.size() ? median : 0;
}

std::vector<std::size_t> repeating_sequence(const std::vector<std::uint32_t>& launches) {
  const std::vector<Regular> regular = regular_kinds(launches);
  // The step is the longest spacing that several kernels share: what occurs once a step has it, whatever noise lies
  // between.
  const Regular* best = nullptr;
  std::size_t best_support = 0;
  for (const Regular& one : regular) {
    std::size_t support = 0;
    for (const Regular& other : regular) {
      support += !differs(other.spacing, one.spacing);
    }
    if (one.spacing * (one.count + 1) * 2 < launches.size()) continue;  // repeats in a part of the recording only
    if (support < 2 && regular.size() > 1) continue;
    const bool same = best != nullptr && !differs(one.spacing, best->spacing);
    const bool longer = best == nullptr || (!same && one.spacing > best->spacing);
    if (longer || (same && one.first < best->first)) {
      best = &one;
      best_support = support;
    }
  }
  std::vector<std::size_t> result;
  if (best == nullptr || best_support == 0) return result;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i] == best->kind) result.push_back(i);
  }
  return result;
}

std::vector<std::vector<std::size_t>> sequences_within(const std::vector<std::uint32_t>& launches, std::size_t longer) {
  std::vector<Positions> even;
  for (auto& [kind, at] : positions_by_kind(launches)) {
    const std::size_t spacing = even_spacing(at);
    if (spacing < kFewLaunches || spacing * 2 > longer) continue;
    if (launches.size() - (at.back() - at.front()) < 2 * spacing) even.push_back(std::move(at));
  }
  std::ranges::sort(even, [](const Positions& left, const Positions& right) {
    return std::pair(left.size(), left.front()) < std::pair(right.size(), right.front());
  });
  std::vector<Positions> result;
  for (std::size_t i = 0; i + 1 < even.size(); ++i) {
    const bool known = !result.empty() && even[i].size() == result.back().size();
    if (!known && even[i].size() == even[i + 1].size()) result.push_back(even[i]);
  }
  return result;
}

std::vector<std::size_t> self_matching_sequence(const std::vector<std::uint32_t>& launches) {
  const Launches all(launches);
  for (const Launches part : {all, all.subspan(all.size() / 2)}) {  // start-up matches nothing: without it, then
    const std::size_t period = matching_period(part);
    if (period == 0) continue;
    const std::size_t spare = all.size() - part.size() + (part.size() - 2 * period) / 2;
    for (const std::size_t from : {all.size() - 2 * period, spare}) {  // the one may be disturbed
      Positions boundaries = marked_from(all, from, period);
      if (!boundaries.empty()) return boundaries;
    }
  }
  return {};
}

}  // namespace warpmark::analyze
