#include "collectives/results/row.h"

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

constexpr std::string_view kMark = "@warpmark ";

double combined(const std::vector<double>& values, RankAverage average) {
  if (values.empty()) return 0;
  switch (average) {
    case RankAverage::rank0: return values.front();
    case RankAverage::least: return *std::min_element(values.begin(), values.end());
    case RankAverage::largest: return *std::max_element(values.begin(), values.end());
    case RankAverage::mean: break;
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

constexpr Field kPlacementFields[] = {
    field<&Placement::time_s>("time", "Of one call: mean over the iterations, and over ranks by --average.")
        .within(kNonNegative),
    field<&Placement::samples_s>("samples", "Of each iteration, mean over ranks.").within(kNonNegative),
    field<&Placement::rank_s>("rank_times", "Of each rank, mean over iterations.").within(kNonNegative),
    field<&Placement::skew_s>("skew", "Median over iterations of the time from the first to the last rank's call.")
        .within(kNonNegative),
    field<&Placement::late_rank>("late_rank", "That came last most often."),
    field<&Placement::late_share>("late_share", "In what share of the iterations.").within(kNonNegative),
    field<&Placement::wrong>("wrong", "Elements; absent: not checked, or without data to check.").within(kNonNegative),
    field<&Placement::wrong_ranks>("wrong_ranks", "Of each rank, where any is wrong.").unless_empty(),
};
constexpr RecordOf<Placement> kPlacement{"placement", "", kPlacementFields};

/// With the bandwidths, which depend on the row.
struct RatedPlacement {
  Placement placement;
  double algorithm = 0, bus = 0;
};
constexpr Field kRatedPlacementFields[] = {
    inlined<&RatedPlacement::placement>(kPlacement),
    field<&RatedPlacement::algorithm>("algbw").within(kNonNegative),
    field<&RatedPlacement::bus>("busbw").within(kNonNegative),
};
constexpr RecordOf<RatedPlacement> kRatedPlacement{"place", "", kRatedPlacementFields};

std::optional<RatedPlacement> rated(const Row& row, const std::optional<Placement>& place) {
  if (!place) return std::nullopt;
  return RatedPlacement{*place, algorithm_bandwidth(row, *place), bus_bandwidth(row, *place)};
}

constexpr Field kRowFields[] = {
    field<&Row::kind>("collective").formed(kCollectiveForm),
    field<&Row::type>("type").formed(kDataTypeForm),
    field<&Row::ranks>("ranks"),
    field<&Row::counts, &Counts::parameter>("count"),
    field<&Row::counts, &Counts::bytes>("size"),
    field<&Row::root>("root"),
    field<&Row::counts, &Counts::send>("send"),
    field<&Row::counts, &Counts::receive>("receive"),
    field<&Row::op>("op").formed(kReduceOpForm).added_later().when([](const Row& row) {
      return info_of(row.kind).reduces;
    }),
    field<&Row::out_of_place>("out_of_place", "", kPlacement).only_read(),
    field<&Row::in_place>("in_place", "", kPlacement).only_read(),
    derived("out_of_place", "", kRatedPlacement, [](const Row& row) { return rated(row, row.out_of_place); }),
    derived("in_place", "", kRatedPlacement, [](const Row& row) { return rated(row, row.in_place); }),
};

constexpr Field kHeadFields[] = {
    field<&Head::engine>("engine"),
    field<&Head::version>("version"),
    field<&Head::ranks>("ranks", "A line each: process, host, device."),
    field<&Head::hosts>("hosts", "Of each rank."),
    field<&Head::copy_rate>("copy_rate", "Of the slowest rank.").within(kNonNegative),
    field<&Head::notes>("notes"),
};

/// Lines may be torn when ranks die: what does not read is a data error.
template <typename T>
Result<T> read_of_rank(const char* what, const RecordOf<T>& record, const Json& json) {
  auto value = warpmark::read(record, json);
  return value.ok() ? value : data_error(std::string("a rank's ") + what + ": " + value.error().what);
}

}  // namespace

double algorithm_bandwidth(const Row& row, const Placement& place) {
  return place.time_s > 0 ? algorithm_bytes(row.kind, row.counts, row.type, row.ranks) / place.time_s : 0;
}

double bus_bandwidth(const Row& row, const Placement& place) {
  return algorithm_bandwidth(row, place) * bus_factor(row.kind, row.ranks);
}

constexpr RecordOf<Row> kRow{"row", "", kRowFields};
constexpr RecordOf<Head> kHead{"head", "", kHeadFields};

Json to_json(const Row& row) { return write(kRow, row); }
Json to_json(const Head& head) { return write(kHead, head); }
Result<Row> row_from_json(const Json& json) { return read_of_rank("row", kRow, json); }
Result<Head> head_from_json(const Json& json) { return read_of_rank("head", kHead, json); }

std::string message_line(std::string_view kind, const Json& json) {
  return std::string(kMark) + std::string(kind) + " " + dump_json(json, -1) + "\n";
}

std::optional<Message> message_of(std::string_view line) {
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return Message{std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

Placement placement_of_loops(const std::vector<RankLoop>& loops, const std::vector<std::int64_t>& offsets_ns,
                             RankAverage average) {
  Placement place;
  if (loops.empty()) return place;
  std::size_t iterations = loops[0].each.size();
  for (const auto& loop : loops) iterations = std::min(iterations, loop.each.size());
  for (const auto& loop : loops) {
    place.rank_s.push_back(loop.each.empty() ? loop.seconds : loop.seconds / static_cast<double>(loop.each.size()));
  }
  place.time_s = combined(place.rank_s, average);
  std::vector<double> skews;
  std::vector<std::size_t> late(loops.size(), 0);
  for (std::size_t i = 0; i < iterations; ++i) {
    std::vector<double> seconds;
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    std::size_t last_rank = 0;
    for (std::size_t rank = 0; rank < loops.size(); ++rank) {
      seconds.push_back(loops[rank].each[i].seconds);
      const std::int64_t begin = loops[rank].each[i].begin_ns + (rank < offsets_ns.size() ? offsets_ns[rank] : 0);
      first = std::min(first, begin);
      if (begin > last) last = begin, last_rank = rank;
    }
    place.samples_s.push_back(combined(seconds, average));
    skews.push_back(static_cast<double>(last - first) * 1e-9);
    ++late[last_rank];
  }
  if (iterations == 0 || loops.size() < 2) return place;
  place.skew_s = stats::median(skews);
  const auto most = std::max_element(late.begin(), late.end());
  place.late_rank = static_cast<int>(most - late.begin());
  place.late_share = static_cast<double>(*most) / static_cast<double>(iterations);
  return place;
}

}  // namespace warpmark::collectives
