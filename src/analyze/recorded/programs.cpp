#include "analyze/recorded/programs.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

namespace warpmark::analyze {

namespace {

// Clocks of hosts that are set by the network differ by milliseconds; a program that is started again needs seconds
// until its GPU works. Clocks of other hosts may never have been set.
constexpr std::int64_t kClocksDifferNs = 1'000'000'000;
constexpr std::int64_t kHostsDifferNs = 60 * kClocksDifferNs;

struct Span {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// On the clock of its host.
Span span_of(const Timeline& timeline) {
  const EventColumns& events = timeline.events;
  if (events.size() == 0) return {timeline.origin_ns, timeline.origin_ns};
  std::int64_t end = events.end(0);
  for (EventIndex i = 0; i < events.size(); ++i) end = std::max(end, events.end(i));
  return {timeline.origin_ns + events.start[0], timeline.origin_ns + end};
}

/// Known to be, or possible: most traces of PyTorch name no host, but which of how many ranks they are of.
bool on_other_hosts(const Timeline& a, const Timeline& b) {
  if (!a.host.empty() && !b.host.empty()) return a.host != b.host;
  return a.world_size > 1 && a.world_size == b.world_size;
}

bool at_the_same_time(const Timeline& a, const Span& span_a, const Timeline& b, const Span& span_b) {
  const std::int64_t slack = on_other_hosts(a, b) ? kHostsDifferNs : kClocksDifferNs;
  // Differences, as sums would overflow where a clock is nonsense.
  return span_a.start / 2 - span_b.end / 2 <= slack / 2 && span_b.start / 2 - span_a.end / 2 <= slack / 2;
}

bool is_same_rank(const Timeline& a, const Timeline& b) {
  const auto said = [](const Timeline& one) { return one.declared_rank >= 0 ? one.declared_rank : one.rank; };
  return said(a) >= 0 && said(a) == said(b);
}

bool fit(const Timeline& a, const Timeline& b) {
  const bool as_many = a.world_size <= 0 || b.world_size <= 0 || a.world_size == b.world_size;
  return as_many && !is_same_rank(a, b);
}

using RankGroup = std::vector<std::size_t>;  // of ranks

bool fit_all(const ProfileSession& session, const RankGroup& one, const RankGroup& other) {
  return std::ranges::all_of(one, [&](std::size_t a) {
    return std::ranges::all_of(other, [&](std::size_t b) { return fit(session.ranks[a], session.ranks[b]); });
  });
}

using Pair = std::tuple<std::int64_t, std::size_t, std::size_t>;  // how far apart they began, and two ranks

/// Pairs of ranks that were recorded at the same time, those first that began nearest to each other: what was started
/// again within a minute is another run.
std::vector<Pair> pairs_of(const ProfileSession& session, const std::vector<Span>& spans, const RankGroup& ranks) {
  std::vector<Pair> pairs;
  for (const std::size_t a : ranks) {
    for (const std::size_t b : ranks) {
      if (a >= b || !at_the_same_time(session.ranks[a], spans[a], session.ranks[b], spans[b])) continue;
      pairs.emplace_back(std::abs(spans[a].start / 2 - spans[b].start / 2), a, b);
    }
  }
  std::ranges::sort(pairs);
  return pairs;
}

}  // namespace

std::vector<std::size_t> programs_of(const ProfileSession& session, const std::vector<WorkList>& lists) {
  std::vector<Span> spans;
  std::vector<std::size_t> group_of(session.ranks.size());  // index into groups
  std::vector<RankGroup> groups(session.ranks.size());
  RankGroup working;
  for (std::size_t r = 0; r < session.ranks.size(); ++r) {
    spans.push_back(span_of(session.ranks[r]));
    groups[r] = {r};
    group_of[r] = r;
    if (!lists[r].empty()) working.push_back(r);
  }
  for (const auto& [apart, a, b] : pairs_of(session, spans, working)) {
    RankGroup& one = groups[std::min(group_of[a], group_of[b])];
    RankGroup& other = groups[std::max(group_of[a], group_of[b])];
    if (&one == &other || !fit_all(session, one, other)) continue;
    const std::size_t joined = std::min(group_of[a], group_of[b]);
    for (const std::size_t r : other) group_of[r] = joined;
    one.insert(one.end(), other.begin(), other.end());
    other.clear();
  }
  std::vector<std::size_t> programs(session.ranks.size(), 0);
  std::map<std::size_t, std::size_t> numbers;  // of groups, in the order of their first ranks
  for (const std::size_t r : working) programs[r] = numbers.try_emplace(group_of[r], numbers.size()).first->second;
  return programs;
}

std::size_t program_count(const std::vector<std::size_t>& programs) {
  return programs.empty() ? 0 : *std::ranges::max_element(programs) + 1;
}

int world_size(const ProfileSession& session) {
  int most = 0;
  for (const Timeline& timeline : session.ranks) most = std::max(most, timeline.world_size);
  return most;
}

}  // namespace warpmark::analyze
