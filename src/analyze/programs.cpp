#include "analyze/programs.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

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

bool at_the_same_time(const Timeline& a, const Span& span_a, const Timeline& b, const Span& span_b) {
  const bool other_host = !a.host.empty() && !b.host.empty() && a.host != b.host;
  const std::int64_t slack = other_host ? kHostsDifferNs : kClocksDifferNs;
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

}  // namespace

std::vector<std::size_t> programs_of(const ProfileSession& session, const std::vector<WorkList>& lists) {
  std::vector<std::size_t> programs(session.ranks.size(), 0);
  std::vector<std::vector<std::size_t>> members;
  std::vector<Span> spans;
  for (const Timeline& timeline : session.ranks) spans.push_back(span_of(timeline));
  for (std::size_t r = 0; r < session.ranks.size(); ++r) {
    if (lists[r].empty()) continue;
    const Timeline& timeline = session.ranks[r];
    const auto known = std::ranges::find_if(members, [&](const std::vector<std::size_t>& others) {
      return std::ranges::all_of(others, [&](std::size_t other) { return fit(session.ranks[other], timeline); }) &&
             std::ranges::any_of(others, [&](std::size_t other) {
               return at_the_same_time(session.ranks[other], spans[other], timeline, spans[r]);
             });
    });
    programs[r] = static_cast<std::size_t>(known - members.begin());
    if (known == members.end()) {
      members.push_back({r});
    } else {
      known->push_back(r);
    }
  }
  return programs;
}

std::size_t program_count(const std::vector<std::size_t>& programs) {
  return programs.empty() ? 0 : *std::ranges::max_element(programs) + 1;
}

}  // namespace warpmark::analyze
