#include "analyze/programs.h"

#include <algorithm>
#include <cstdint>

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
  const auto said = [](const Timeline& one) { return one.claimed_rank >= 0 ? one.claimed_rank : one.rank; };
  return said(a) >= 0 && said(a) == said(b);
}

bool fit(const Timeline& a, const Timeline& b) {
  const bool as_many = a.world_size <= 0 || b.world_size <= 0 || a.world_size == b.world_size;
  return as_many && !is_same_rank(a, b);
}

using Group = std::vector<std::size_t>;  // of ranks

/// Whether all of two groups may be of one program, and some were recorded at the same time.
bool meet(const ProfileSession& session, const std::vector<Span>& spans, const Group& one, const Group& other) {
  bool at_once = false;
  for (const std::size_t a : one) {
    for (const std::size_t b : other) {
      if (!fit(session.ranks[a], session.ranks[b])) return false;
      at_once = at_once || at_the_same_time(session.ranks[a], spans[a], session.ranks[b], spans[b]);
    }
  }
  return at_once;
}

/// Joins groups until none meet, whatever the order of the ranks.
void join_groups(const ProfileSession& session, const std::vector<Span>& spans, std::vector<Group>& groups) {
  for (std::size_t a = 0; a < groups.size(); ++a) {
    for (std::size_t b = a + 1; b < groups.size();) {
      if (!meet(session, spans, groups[a], groups[b])) {
        ++b;
        continue;
      }
      groups[a].insert(groups[a].end(), groups[b].begin(), groups[b].end());
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(b));
      b = a + 1;  // what did not meet the smaller group may meet this one
    }
  }
}

}  // namespace

std::vector<std::size_t> programs_of(const ProfileSession& session, const std::vector<WorkList>& lists) {
  std::vector<Span> spans;
  std::vector<Group> groups;
  for (std::size_t r = 0; r < session.ranks.size(); ++r) {
    spans.push_back(span_of(session.ranks[r]));
    if (!lists[r].empty()) groups.push_back({r});
  }
  join_groups(session, spans, groups);
  std::vector<std::size_t> programs(session.ranks.size(), 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::size_t r : groups[g]) programs[r] = g;
  }
  return programs;
}

std::size_t program_count(const std::vector<std::size_t>& programs) {
  return programs.empty() ? 0 : *std::ranges::max_element(programs) + 1;
}

}  // namespace warpmark::analyze
