// Recordings of ranks begin at different collectives, and sequence numbers are rare: the shift between two lists of
// collectives is the one under which the differences of their ends scatter least.
#include "analyze/recorded/ranks.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recorded/messages.h"
#include "analyze/recorded/order_statistics.h"

namespace warpmark::analyze {

namespace {

// A rank may be ahead of another one by what a queue holds: some programs have hundreds of collectives a step.
constexpr auto kMostShift = static_cast<std::int64_t>(kQueueDepth);

// Clocks that NTP sets over a local network agree this well (RFC 5905, section 1: "sub-millisecond").
constexpr std::int64_t kNetworkTimeNs = 1'000'000;

struct Shift {
  bool found = false;
  int by = 0;
  std::int64_t offset = 0;
  std::int64_t spread = std::numeric_limits<std::int64_t>::max();
  std::int64_t matched = 0;
};

bool clearly_more(std::int64_t spread, std::int64_t other) {
  return static_cast<double>(spread) > kClearlyMore * static_cast<double>(other) + static_cast<double>(kLatencyNs);
}

/// Of too few collectives to compare shifts: as recorded, where they end at the same times on one clock.
Shift shift_of_few(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& other) {
  if (first.empty() || first.size() != other.size() || first.size() >= kFewest) return {};
  std::int64_t most = 0;
  for (std::size_t i = 0; i < first.size(); ++i) most = std::max(most, std::abs(first[i] - other[i]));
  return most < kOwnWorkNs ? Shift{true, 0, 0, most} : Shift{};
}

/// Communication of one rank, ascending by end.
struct OwnCollectives {
  std::vector<std::size_t> works;       // indices into its list
  std::vector<std::int64_t> ends;       // on its own clock, since the first rank's origin
  std::vector<std::string_view> steps;  // the profiler's step of each, "" if unknown; empty if it marked none
};

/// The profiler numbered the steps of both, and they are others.
bool of_other_steps(const OwnCollectives& first, const OwnCollectives& other, int by) {
  if (other.steps.empty()) return false;
  std::size_t same = 0, differ = 0;
  for (std::size_t i = by < 0 ? static_cast<std::size_t>(-by) : 0; i < first.steps.size(); ++i) {
    const std::size_t at = i + static_cast<std::size_t>(by);
    if (at >= other.steps.size()) break;
    if (first.steps[i].empty() || other.steps[at].empty()) continue;
    ++(first.steps[i] == other.steps[at] ? same : differ);
    if (same + differ == kFewest) break;
  }
  return differ > same;
}

/// other[i + by] is the same collective as first[i].
Shift best_shift(const OwnCollectives& first_rank, const OwnCollectives& other_rank) {
  const std::vector<std::int64_t>& first = first_rank.ends;
  const std::vector<std::int64_t>& other = other_rank.ends;
  Shift best = shift_of_few(first, other);
  const std::int64_t least = std::max<std::int64_t>(kFewest, std::min(std::ssize(first), std::ssize(other)) / 2);
  const std::int64_t stride = std::max<std::int64_t>(1, std::ssize(first) / kMostShift);
  std::vector<std::int64_t> differences;
  std::int64_t least_spread = std::numeric_limits<std::int64_t>::max() / 2;
  for (std::int64_t n = 0; n <= 2 * kMostShift; ++n) {  // 0, 1, -1, 2, ...: near ones are likely
    const auto by = static_cast<int>(n % 2 == 1 ? n / 2 + 1 : -n / 2);
    differences.clear();
    const std::int64_t common = std::min(std::ssize(first), std::ssize(other) - by) - std::max<std::int64_t>(0, -by);
    if (common < least || of_other_steps(first_rank, other_rank, by)) continue;
    for (std::int64_t i = 0; i < std::ssize(first); i += stride) {
      const std::int64_t at = i + by;
      if (at < 0 || at >= std::ssize(other)) continue;
      differences.push_back(first[static_cast<std::size_t>(i)] - other[static_cast<std::size_t>(at)]);
    }
    if (differences.size() < kFewest) continue;
    const std::int64_t offset = upper_median(differences);
    for (std::int64_t& one : differences) one = std::abs(one - offset);
    const std::int64_t spread = upper_median(differences);
    // Of two shifts that fit alike (a regular program) the one that needs the smaller correction of clocks, if these
    // are set by one source; else the one that matches more: ranks are recorded from the same step on.
    const bool fits = best.found && !clearly_more(spread, least_spread);
    const bool nearer = std::abs(offset) < std::abs(best.offset);
    const bool by_clock = std::min(std::abs(offset), std::abs(best.offset)) < kNetworkTimeNs;
    const bool closer = fits && (by_clock || common == best.matched ? nearer : common > best.matched);
    least_spread = std::min(least_spread, spread);
    const auto on_one_clock = [](std::int64_t apart, std::int64_t scatter) {
      return std::abs(apart) < kOwnWorkNs && scatter <= kDispatchNs;
    };
    const bool settled = best.found && on_one_clock(best.offset, best.spread);
    const bool better =
        !best.found || (!settled && (clearly_more(best.spread, spread) || on_one_clock(offset, spread)));
    if (better || closer) best = {true, by, offset, spread, common};
  }
  return best;
}

OwnCollectives own_collectives(const Timeline& timeline, const WorkList& list, const std::vector<Message>& messages,
                               std::int64_t origin_ns) {
  OwnCollectives all;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    if (list.works[i].category != Category::communication) continue;
    if (!std::ranges::binary_search(messages, i, {}, &Message::work)) all.works.push_back(i);
  }
  std::sort(all.works.begin(), all.works.end(),
            [&list](std::size_t a, std::size_t b) { return list.works[a].end < list.works[b].end; });
  const NameSet marked(timeline.names, names_profiled_step);
  for (const std::size_t i : all.works) {
    const GpuWork& work = list.works[i];
    EventIndex at = work.launch;
    while (at != kNoEvent && !marked.contains(timeline.events.name[at])) at = list.parent[at];
    all.ends.push_back(work.end + origin_ns);
    if (marked.any()) all.steps.push_back(at == kNoEvent ? std::string_view() : timeline.name_of(at));
  }
  return all;
}

/// The ranks of one program against the first of them.
void align(const std::vector<const Timeline*>& timelines, const std::vector<WorkList>& lists,
           const std::vector<std::vector<Message>>& messages, const std::vector<std::size_t>& members,
           std::int32_t& count, std::vector<RankAlignment>& result) {
  if (members.size() < 2) return;
  const std::size_t first = members[0];
  const auto origin_of = [&](std::size_t r) { return timelines[r]->origin_ns - timelines[first]->origin_ns; };
  std::vector<OwnCollectives> own(lists.size());
  std::vector<Shift> shifts(lists.size());
  for (const std::size_t r : members) {
    own[r] = own_collectives(*timelines[r], lists[r], messages[r], origin_of(r));
    shifts[r] = r == first ? Shift{true, 0, 0, 0} : best_shift(own[first], own[r]);
    result[r].aligned = shifts[r].found;
    result[r].clock_offset_ns = shifts[r].offset;
    result[r].end_spread_ns = shifts[r].found ? shifts[r].spread : 0;
    result[r].wait_until.assign(lists[r].works.size(), 0);
    result[r].late_rank.assign(lists[r].works.size(), 0);
    result[r].rendezvous.assign(lists[r].works.size(), -1);
  }
  for (std::size_t i = 0; i < own[first].ends.size(); ++i) {
    std::int64_t last_start = std::numeric_limits<std::int64_t>::min();  // on the first rank's timeline
    std::int64_t most_apart = 0;
    std::size_t last = 0;
    bool everywhere = true;
    for (const std::size_t r : members) {
      if (!shifts[r].found) continue;
      const std::int64_t at = static_cast<std::int64_t>(i) + shifts[r].by;
      everywhere = at >= 0 && at < std::ssize(own[r].ends);
      if (!everywhere) break;
      const GpuWork& work = lists[r].works[own[r].works[static_cast<std::size_t>(at)]];
      const std::int64_t shift = origin_of(r) + shifts[r].offset;
      if (work.start + shift > last_start) last_start = work.start + shift, last = r;
      most_apart = std::max(most_apart, std::abs(work.end + origin_of(r) + shifts[r].offset - own[first].ends[i]));
    }
    if (!everywhere) continue;
    const std::int32_t rendezvous = most_apart <= kOwnWorkNs ? count++ : -1;
    for (const std::size_t r : members) {
      if (!shifts[r].found) continue;
      const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(i) + shifts[r].by);
      const std::size_t index = own[r].works[at];
      const GpuWork& work = lists[r].works[index];
      const std::int64_t shift = origin_of(r) + shifts[r].offset;
      result[r].matched += 1;
      result[r].rendezvous[index] = rendezvous;
      if (last_start - shift <= work.start) continue;
      result[r].wait_until[index] = std::min(work.end, last_start - shift);
      result[r].late_rank[index] = static_cast<std::uint32_t>(last);
    }
  }
}

/// A message takes as long as the fastest of its size; the rest of its time it waits for the rank at its other end.
void wait_for_messages(const std::vector<WorkList>& lists, const std::vector<std::vector<Message>>& messages,
                       const std::vector<std::size_t>& members, std::vector<RankAlignment>& result) {
  std::map<std::int64_t, std::int64_t> fastest;  // by elements
  const auto length = [&](std::size_t r, const Message& one) {
    return lists[r].works[one.work].end - lists[r].works[one.work].start;
  };
  for (const std::size_t r : members) {
    for (const Message& one : messages[r]) {
      const auto [at, is_new] = fastest.emplace(one.elements, length(r, one));
      if (!is_new) at->second = std::min(at->second, length(r, one));
    }
  }
  for (const std::size_t r : members) {
    if (messages[r].empty()) continue;
    RankAlignment& own = result[r];
    own.wait_until.resize(lists[r].works.size());
    own.late_rank.resize(lists[r].works.size());
    own.rendezvous.resize(lists[r].works.size(), -1);
    for (const Message& one : messages[r]) {
      own.late_rank[one.work] = kNoRank;
      own.wait_until[one.work] = lists[r].works[one.work].end - fastest.at(one.elements);
    }
    const std::ptrdiff_t communication =
        std::ranges::count(lists[r].works, Category::communication, &GpuWork::category);
    own.by_messages = 2 * std::ssize(messages[r]) >= communication;
  }
}

}  // namespace

std::vector<RankAlignment> align_ranks(const std::vector<const Timeline*>& timelines,
                                       const std::vector<WorkList>& lists, const std::vector<std::size_t>& programs) {
  std::vector<RankAlignment> result(lists.size());
  std::int32_t count = 0;
  std::vector<std::vector<Message>> messages;
  for (std::size_t r = 0; r < lists.size(); ++r) messages.push_back(messages_of(*timelines[r], lists[r]));
  for (std::size_t program = 0; program < program_count(programs); ++program) {
    std::vector<std::size_t> members;
    for (std::size_t r = 0; r < lists.size(); ++r) {
      if (programs[r] == program) members.push_back(r);
    }
    align(timelines, lists, messages, members, count, result);
    wait_for_messages(lists, messages, members, result);
  }
  return result;
}

}  // namespace warpmark::analyze
