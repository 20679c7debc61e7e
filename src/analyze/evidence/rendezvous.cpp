#include "analyze/evidence/rendezvous.h"

#include <algorithm>
#include <utility>

namespace warpmark::analyze {

namespace {

/// To be added to times of one rank's timeline to get the other's.
std::int64_t shift_between(const RankEvidence& from, const RankEvidence& to) {
  return from.timeline->origin_ns + from.alignment.clock_offset_ns - to.timeline->origin_ns -
         to.alignment.clock_offset_ns;
}

/// Walks through the collectives of one rank, in which it waited for others.
class Lateness {
 public:
  Lateness(const Facts& facts, std::vector<const Coverage*> busy) : facts_(facts), busy_(std::move(busy)) {}

  /// What of the waiting of rank `r` the others' later `busy` explains, ns a step. `only`: waiting for this one alone.
  [[nodiscard]] double explained_ns(std::size_t r, const RankEvidence* only) const {
    const RankEvidence& rank = facts_.ranks[r];
    double all = 0, explained = 0;
    // Until when no rank was ahead: the end of the last collective that no computing hid and after which computing went
    // on.
    std::int64_t met = rank.steps.start();
    std::int64_t ended = met;  // of the last such collective, whether or not computing went on
    for (std::size_t i = 0; i < rank.alignment.wait_until.size(); ++i) {
      const GpuWork& work = rank.list.works[i];
      if (work.category != Category::communication || !rank.in_steps(work)) continue;
      if (rank.compute.covered(ended, work.start) > 0) met = std::max(met, ended);
      const std::size_t late = evidence_index(rank.alignment.late_rank[i]);
      if (rank.alignment.wait_until[i] > work.start && late < facts_.ranks.size() && knows(r, late, met, i)) {
        const std::int64_t until = rank.alignment.wait_until[i];
        const std::int64_t wait = until - work.start - rank.compute.covered(work.start, until);
        all += static_cast<double>(wait);
        if (only == nullptr || &facts_.ranks[late] == only)
          explained += static_cast<double>(std::clamp<std::int64_t>(later(r, late, met, i), 0, wait));
      }
      if (rank.compute.covered(work.end - kLatencyNs, work.end) == 0) ended = std::max(ended, work.end);
    }
    return all > 0 ? rank.part_ns(Part::idle_waiting_for_rank) * explained / all : 0;
  }

 private:
  /// Index into Facts::ranks of one into ProfileSession::ranks.
  [[nodiscard]] std::size_t evidence_index(std::uint32_t index) const {
    const auto found = std::ranges::find(facts_.ranks, index, &RankEvidence::index);
    return static_cast<std::size_t>(found - facts_.ranks.begin());
  }

  /// On rank r's clock: when what both ranks did begins to be known.
  [[nodiscard]] std::int64_t known_from(std::size_t r, std::size_t late, std::int64_t met) const {
    return std::max(met, facts_.ranks[late].steps.start() - shift_between(facts_.ranks[r], facts_.ranks[late]));
  }

  /// What the late rank did is known of its own steps, which may begin and end later.
  [[nodiscard]] bool knows(std::size_t r, std::size_t late, std::int64_t met, std::size_t i) const {
    const RankEvidence& rank = facts_.ranks[r];
    const std::int64_t until = rank.alignment.wait_until[i] + shift_between(rank, facts_.ranks[late]);
    return rank.list.works[i].start >= known_from(r, late, met) && until <= facts_.ranks[late].steps.end();
  }

  /// How much longer the late rank was busy than rank `r` since both met until it came to work `i`.
  [[nodiscard]] std::int64_t later(std::size_t r, std::size_t late, std::int64_t met, std::size_t i) const {
    const RankEvidence& rank = facts_.ranks[r];
    const std::int64_t shift = shift_between(rank, facts_.ranks[late]);
    const std::int64_t from = known_from(r, late, met);
    return busy_[late]->covered(from + shift, rank.alignment.wait_until[i] + shift) -
           busy_[r]->covered(from, rank.list.works[i].start);
  }

  const Facts& facts_;
  std::vector<const Coverage*> busy_;  // of each rank
};

}  // namespace

std::vector<double> waiting_for_host_ns(const Facts& facts) {
  std::vector<Coverage> hosts;
  for (const RankEvidence& rank : facts.ranks) hosts.emplace_back(rank.breakdown.late_host);
  std::vector<const Coverage*> busy;
  for (const Coverage& host : hosts) busy.push_back(&host);
  const Lateness lateness(facts, std::move(busy));
  std::vector<double> waiting(facts.ranks.size());
  for (std::size_t r = 0; r < waiting.size(); ++r) {
    if (r != facts.critical) waiting[r] = lateness.explained_ns(r, &facts.rank());
  }
  return waiting;
}

}  // namespace warpmark::analyze
