#include "warpmark/profiles/joined_ranks.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace warpmark::apps {
namespace {

namespace net = warpmark::collectives::net;

/// Crystals differ by at most some 100 in a million; what differs more was set.
void note_a_set_clock(const RecordedRank& rank, Timeline& timeline) {
  if (!rank.before || !rank.after) return;
  const auto apart = std::abs(static_cast<double>(rank.after->offset_ns - rank.before->offset_ns));
  const auto meanwhile = static_cast<double>(rank.after->at_ns - rank.before->at_ns);
  const auto blur = static_cast<double>(rank.after->uncertainty_ns + rank.before->uncertainty_ns);
  if (apart <= blur + 500e-6 * meanwhile) return;
  timeline.quality.push_back({"clock_set",
                              "the clock of this host was set while it was recorded: its times are uncertain", 1,
                              fmt::format("by {:.3g} ms", apart * 1e-6)});
}

void move(const RecordedRank& rank, Timeline& timeline) {
  if (!rank.before) return;
  const auto offset = net::offset_at(*rank.before, rank.after, timeline.origin_ns);
  timeline.origin_ns += offset.offset_ns;
  timeline.metadata.emplace_back("clock_offset_ns", std::to_string(offset.offset_ns));
  timeline.metadata.emplace_back("clock_uncertainty_ns", std::to_string(offset.uncertainty_ns));
  note_a_set_clock(rank, timeline);
}

/// Of the whole file onto the clock of its first timeline.
void take_counters(RecordedRank& rank, Timeline& timeline, std::int64_t own_origin_ns) {
  for (auto& series : rank.session.counters) {
    for (auto& time : series.times) time -= own_origin_ns;
    timeline.counters.push_back(std::move(series));
  }
  rank.session.counters.clear();
}

}  // namespace

ProfileSession join_ranks(std::vector<RecordedRank> ranks, int world_size) {
  ProfileSession joined;
  for (auto& rank : ranks) {
    auto& timelines = rank.session.ranks;
    for (std::size_t i = 0; i < timelines.size(); ++i) {
      Timeline& timeline = timelines[i];
      const std::int64_t own_origin = timeline.origin_ns;
      move(rank, timeline);
      if (i == 0) take_counters(rank, timeline, own_origin);
      if (timeline.host.empty()) timeline.host = rank.host;
      if (timelines.size() > 1) continue;  // a launcher of its own numbers its processes
      timeline.rank = rank.rank;
      timeline.world_size = world_size;
    }
    std::move(timelines.begin(), timelines.end(), std::back_inserter(joined.ranks));
    std::move(rank.session.quality.begin(), rank.session.quality.end(), std::back_inserter(joined.quality));
  }
  return joined;
}

}  // namespace warpmark::apps
