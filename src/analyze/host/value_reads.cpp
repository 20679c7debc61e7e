#include "analyze/host/value_reads.h"

#include <algorithm>
#include <span>

#include "analyze/names/operators.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

// A loop over values reads one, does a little with it and reads the next. Doing the same for all values at once needs
// neither the reads nor the rounds. In ten programs a round had 1 to 45 launches, of which none computed a matrix or
// took 25 us, and a step had 24 to 6000 rounds; layers with a read in each compute matrices.
constexpr std::size_t kMostInRound = 64;
constexpr std::int64_t kLongestInRoundNs = 25'000;
constexpr std::size_t kLeastRounds = 16;
constexpr double kMostlyComputing = 0.5;  // of a round: rounds of a solver are its work, whatever its check reads

struct Launched {
  std::size_t work;
  std::uint32_t track;
  std::int64_t time;
  bool reads;
};

class Reads {
 public:
  Reads(const Timeline& timeline, const WorkList& list, const DebugModes& modes)
      : timeline_(timeline),
        list_(list),
        modes_(modes),
        item_(timeline.names, reads_value),
        asks_(timeline.names, asks_question) {}

  ValueReads find() {
    found_.assign(list_.works.size(), false);
    for (std::size_t i = 0; i < found_.size(); ++i) found_[i] = is_read(list_.works[i]);
    const std::vector<Launched> order = in_launch_order();
    for (auto first = order.begin(); first != order.end();) {
      const std::uint32_t track = first->track;
      const auto last = std::find_if(first, order.end(), [track](const Launched& one) { return one.track != track; });
      const bool copies_only = std::all_of(first, last, [this](const Launched& one) {
        return is_host_copy(list_.works[one.work].category);  // a runtime's thread that reads for others
      });
      if (!copies_only) look_at_thread({first, last});
      first = last;
    }
    ValueReads reads{{}, rounds_};
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i]) reads.works.push_back(i);
    }
    return reads;
  }

 private:
  bool is_read(const GpuWork& work) const {
    if (work.category != Category::copy_to_host && !modes_.anomaly_mode) return false;
    return any_around(list_, work.launch, [this](EventIndex at) {
      const bool op = timeline_.events.kind[at] == EventKind::op;
      return op && (item_.contains(timeline_.events.name[at]) || modes_.checks.contains(at));
    });
  }

  std::vector<Launched> in_launch_order() const {
    const EventColumns& events = timeline_.events;
    std::vector<Launched> order;
    for (std::size_t i = 0; i < list_.works.size(); ++i) {
      const EventIndex launch = list_.works[i].launch;
      if (launch == kNoEvent) continue;
      const GpuWork& work = list_.works[i];
      const bool reads = found_[i] || (work.category == Category::copy_to_host && !work.downloads);
      order.push_back({i, events.track[launch], events.start[launch], reads});
    }
    if (std::ranges::none_of(order, &Launched::reads)) return {};
    std::ranges::sort(order, [](const Launched& a, const Launched& b) {
      return a.track != b.track ? a.track < b.track : a.time != b.time ? a.time < b.time : a.work < b.work;
    });
    return order;
  }

  void look_at_thread(std::span<const Launched> order) {
    std::size_t round = 0;   // the first launch after the last read
    std::size_t rounds = 0;  // in a row
    std::size_t loop = 0;    // the first launch of the first of them
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!order[i].reads) continue;
      const std::span<const Launched> between = order.subspan(round, i - round);
      mark_questions(between);
      const std::int64_t since = round == 0 ? order[i].time : order[round - 1].time;
      if (!is_round(between, order[i].time - since))
        rounds = 0;
      else if (rounds++ == 0)
        loop = round;
      if (rounds >= kLeastRounds) {
        const std::size_t from = rounds == kLeastRounds ? loop : round;
        mark(order.subspan(from, i + 1 - from));
        rounds_ += rounds == kLeastRounds ? static_cast<std::int64_t>(rounds) : 1;
      }
      round = i + 1;
    }
  }

  void mark_questions(std::span<const Launched> between) {
    for (auto one = between.rbegin(); one != between.rend() && is_question(list_.works[one->work]); ++one) {
      found_[one->work] = true;
    }
  }

  void mark(std::span<const Launched> works) {
    for (const Launched& one : works) found_[one.work] = true;
  }

  /// `took_ns`: from read to read.
  bool is_round(std::span<const Launched> between, std::int64_t took_ns) const {
    if (between.size() > kMostInRound) return false;
    std::int64_t busy = 0;
    for (const Launched& one : between) {
      const GpuWork& work = list_.works[one.work];
      const bool matrix = work.category <= Category::attention || work.category == Category::communication;
      if (matrix || work.in_optimizer || work.end - work.start > kLongestInRoundNs) return false;
      busy += work.end - work.start;
    }
    return static_cast<double>(busy) <= kMostlyComputing * static_cast<double>(took_ns);
  }

  bool is_question(const GpuWork& work) const {
    EventIndex outermost = kNoEvent;
    for (EventIndex at = work.launch; at != kNoEvent; at = list_.parent[at]) {
      if (timeline_.events.kind[at] == EventKind::op) outermost = at;
    }
    return outermost != kNoEvent && asks_.contains(timeline_.events.name[outermost]);
  }

  const Timeline& timeline_;
  const WorkList& list_;
  const DebugModes& modes_;
  NameSet item_;
  NameSet asks_;
  std::vector<bool> found_;  // by work
  std::int64_t rounds_ = 0;
};

}  // namespace

ValueReads find_value_reads(const Timeline& timeline, const WorkList& list, const DebugModes& modes) {
  return Reads(timeline, list, modes).find();
}

}  // namespace warpmark::analyze
