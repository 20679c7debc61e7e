#include "analyze/replay/replay_together.h"

#include <algorithm>
#include <vector>

#include "analyze/recorded/scales.h"

namespace warpmark::analyze {

namespace {

constexpr int kRounds = 4;  // times that the recorded steps are played; the first ones fill the queue
constexpr double kKernelGapNs =
    900;  // between two kernels of a stream that were launched in time (H200: 0.8 to 1.0 us)

/// Without waits the queue fills, and gaps between kernels show that were hidden in the waits. The kernels of a graph
/// follow one another sooner.
bool runs_freely(const WhatIf& change) {
  if (change.as_graph) return false;
  for (std::size_t c = 0; c < kHostCauses; ++c) {
    if (change.drop_wait[c] && static_cast<HostCause>(c) != HostCause::dispatch) return true;
  }
  return false;
}

/// A collective in one round.
struct Rendezvous {
  double last_arrival = 0;
  int arrived = 0;
};

/// The collectives of all rounds, in which ranks meet.
class AllRendezvous {
 public:
  explicit AllRendezvous(std::span<const Replay* const> ranks) {
    for (const Replay* rank : ranks) {
      for (const ReplayWork& work : rank->works()) {
        if (work.rendezvous >= 0) expect(static_cast<std::size_t>(work.rendezvous), rank->steps());
      }
    }
    rounds_.resize(kRounds * expected_.size());
  }

  /// nullptr if nobody else comes.
  Rendezvous* at(int round, std::int32_t rendezvous) {
    if (rendezvous < 0 || expected(rendezvous) < 2) return nullptr;
    return &rounds_[static_cast<std::size_t>(round) * expected_.size() + static_cast<std::size_t>(rendezvous)];
  }
  [[nodiscard]] int expected(std::int32_t rendezvous) const {
    return expected_[static_cast<std::size_t>(rendezvous)].ranks;
  }

 private:
  struct Expected {
    int ranks = 0;
    int steps = 0;
  };
  /// Ranks of which other numbers of steps are played would meet once a round, which is not once a step: they do not.
  void expect(std::size_t rendezvous, int steps) {
    if (rendezvous >= expected_.size()) expected_.resize(rendezvous + 1);
    Expected& one = expected_[rendezvous];
    if (one.steps == 0) one.steps = steps;
    one.ranks = one.steps == steps && one.ranks >= 0 ? one.ranks + 1 : -1;
  }

  std::vector<Expected> expected_;
  std::vector<Rendezvous> rounds_;
};

/// One rank on its way through the rounds.
class RankRun {
 public:
  RankRun(const Replay& replay, const WhatIf& change)
      : replay_(replay),
        change_(change),
        gap_(runs_freely(change) ? kKernelGapNs : 0),
        stream_end_(replay.streams(), 0.0),
        start_(replay.works().size(), 0.0),
        end_(replay.works().size(), 0.0) {}

  /// Goes on until it is done or waits for another rank. `let_go`: the others cannot come (they wait elsewhere), and
  /// the rendezvous is given up. Whether it came any further.
  bool advance(AllRendezvous& places, bool let_go) {
    const std::vector<ReplayWork>& works = replay_.works();
    bool moved = false;
    while (round_ < kRounds) {
      if (next_ == works.size()) {
        marks_[round_++] = std::max(host_, gpu_);
        next_ = 0;
        continue;
      }
      if (!play(works[next_], places, let_go)) return moved;
      let_go = false;
      moved = true;
      ++next_;
    }
    return moved;
  }

  [[nodiscard]] bool done() const { return round_ == kRounds; }
  [[nodiscard]] double step_ns() const {
    const double rounds = kRounds - 2;
    return (marks_[kRounds - 1] - marks_[1]) / rounds / replay_.steps();
  }

 private:
  /// False: it waits for other ranks.
  bool play(const ReplayWork& one, AllRendezvous& places, bool let_go) {
    const double scale = change_.duration_scale.empty() ? 1.0 : static_cast<double>(change_.duration_scale[one.work]);
    Rendezvous* rendezvous = places.at(round_, one.rendezvous);
    const bool holds = scale > 0 || (rendezvous != nullptr && change_.keeps_rendezvous);
    if (!waiting_) {
      if (next_ >= kQueueDepth) host_ = std::max(host_, start_[next_ - kQueueDepth]);
      start_[next_] = holds ? begin_of(one) : host_;
      if (rendezvous != nullptr) {
        ++rendezvous->arrived;
        if (holds) rendezvous->last_arrival = std::max(rendezvous->last_arrival, start_[next_]);
      }
    }
    waiting_ = rendezvous != nullptr && holds && rendezvous->arrived < places.expected(one.rendezvous) && !let_go;
    if (waiting_) return false;
    if (holds) {
      const double begin = rendezvous != nullptr ? std::max(start_[next_], rendezvous->last_arrival) : start_[next_];
      end_[next_] = begin + scale * static_cast<double>(one.duration_ns);
      stream_end_[one.stream] = end_[next_];
      gpu_ = std::max(gpu_, end_[next_]);
    } else {
      end_[next_] = stream_end_[one.stream];
    }
    launch_next(one);
    return true;
  }

  [[nodiscard]] double begin_of(const ReplayWork& one) const {
    double begin = std::max(host_ + static_cast<double>(kLatencyNs), stream_end_[one.stream] + gap_);
    if (one.waits_for >= 0) begin = std::max(begin, end_[static_cast<std::size_t>(one.waits_for)]);
    return begin;
  }

  /// The host, up to the next launch.
  void launch_next(const ReplayWork& one) {
    const double dispatch =
        change_.dispatch_scale.empty() ? 1.0 : static_cast<double>(change_.dispatch_scale[one.work]);
    double ahead = 0;
    for (std::size_t c = 0; c < kHostCauses; ++c) {
      const auto cause = static_cast<HostCause>(c);
      const double left = is_dispatching_anything(cause) ? dispatch : 1.0;
      ahead += change_.host_scale[c] * left * static_cast<double>(one.host_ns[c]);
    }
    const bool waits = one.wait != HostCause::none && !change_.drop_wait[static_cast<std::size_t>(one.wait)];
    if (waits) {
      const double before = std::min(ahead, static_cast<double>(one.host_before_wait_ns));
      host_ = std::max(host_ + before, gpu_ + static_cast<double>(kLatencyNs)) + (ahead - before);
    } else {
      host_ += ahead;
    }
  }

  const Replay& replay_;
  const WhatIf& change_;
  double gap_;
  std::vector<double> stream_end_, start_, end_;
  double host_ = 0;
  double gpu_ = 0;
  double marks_[kRounds] = {};
  int round_ = 0;
  std::size_t next_ = 0;
  bool waiting_ = false;
};

}  // namespace

double step_together_ns(std::span<const Replay* const> ranks, std::span<const WhatIf> changes) {
  AllRendezvous places(ranks);
  std::vector<RankRun> runs;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r]->works().empty() && ranks[r]->steps() > 0) runs.emplace_back(*ranks[r], changes[r]);
  }
  const auto under_way = [](const RankRun& run) { return !run.done(); };
  while (std::ranges::any_of(runs, under_way)) {
    bool moved = false;
    for (RankRun& run : runs) moved = run.advance(places, false) || moved;
    if (moved) continue;
    std::ranges::find_if(runs, under_way)->advance(places, true);
  }
  double slowest = 0;
  for (const RankRun& run : runs) slowest = std::max(slowest, run.step_ns());
  return slowest;
}

}  // namespace warpmark::analyze
