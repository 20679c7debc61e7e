#include "collectives/results/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/units.h"

namespace warpmark::collectives {
namespace {

/// Beside whom nobody is late: broadcasts and gathers let their ranks run ahead of each other.
bool synchronizes(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::all_gather || kind == Collective::reduce_scatter ||
         kind == Collective::alltoall;
}

std::size_t hosts_of(const Sweep& sweep) {
  if (!sweep.head) return 1;
  return std::max<std::size_t>(1, std::set<std::string>(sweep.head->hosts.begin(), sweep.head->hosts.end()).size());
}

/// NVLinks promise nothing to ranks on several hosts: there the network is the limit. What was given holds anywhere.
Expectation between_hosts(Expectation expectation, const Sweep& sweep) {
  const auto hosts = static_cast<int>(hosts_of(sweep));
  if (expectation.given || hosts < 2 || sweep.rows.empty()) return expectation;
  const Row& row = sweep.rows.front();
  // A host has ports for storage, too: no more than one is expected to serve each rank. What crosses between hosts
  // also goes through the links within them.
  const double of_host = static_cast<double>(row.ranks) / hosts;
  const double between =
      std::min(expectation.network, of_host * expectation.port) * share_of_network(row.kind, row.ranks, hosts);
  const double within =
      expectation.usual ? expectation.fabric * usual_reach(row.kind, static_cast<int>(of_host), 1 << 30) : 0;
  expectation.usual = false;
  expectation.unjudged.clear();
  expectation.fabric = std::min(between, within);
  expectation.source = expectation.network_source;
  // Smaller ones are bound by the latency of many hosts.
  expectation.large_bytes = std::max<std::int64_t>(expectation.large_bytes, 1 << 30);
  return expectation;
}

Judged judge_one(const Row& row, const Placement& place, bool in_place, const Expectation& expectation) {
  Judged judged{row.counts.bytes, in_place, SizeVerdict::not_judged, bus_bandwidth(row, place), 0, 0, 0, {}};
  if (expectation.fabric > 0) judged.of_fabric = judged.busbw / expectation.fabric;
  if (expectation.links) judged.of_links = judged.busbw / expectation.links->slowest;
  if (place.wrong.value_or(0) > 0) {
    judged.verdict = SizeVerdict::wrong;
    judged.reason = fmt::format("{} wrong elements", *place.wrong);
    return judged;
  }
  const auto known = expectation.baseline.find({row.counts.bytes, in_place});
  if (known != expectation.baseline.end()) {
    judged.expected = known->second * (1 - expectation.tolerance);
    judged.reason = fmt::format("baseline {}", format_si(known->second, "B/s"));
  } else if (expectation.fabric > 0 && expectation.unjudged.empty() && row.counts.bytes >= expectation.large_bytes &&
             row.ranks > 1) {
    const double reached =
        expectation.fabric * (expectation.usual ? usual_reach(row.kind, row.ranks, row.counts.bytes) : 1);
    judged.expected = reached * expectation.share;
    judged.reason =
        fmt::format("{} of {} ({})", format_percent(expectation.share), format_si(reached, "B/s"), expectation.source);
  } else {
    return judged;
  }
  judged.verdict = judged.busbw < judged.expected ? SizeVerdict::below : SizeVerdict::good;
  return judged;
}

/// The same rank last in most iterations of most sizes, by more than calls of MPI and CUDA differ. On a busy machine
/// ranks are late by turns.
std::optional<SlowRank> slow_rank(const Sweep& sweep) {
  constexpr double kLeastSkew = 50e-6, kLeastShare = 0.8, kLeastPart = 0.02;
  std::map<int, int> votes;
  std::optional<SlowRank> worst;
  double worst_part = 0;
  int places = 0;
  for (const auto& row : sweep.rows) {
    if (!synchronizes(row.kind) || row.counts.bytes == 0) continue;
    for (const auto* place : {&row.out_of_place, &row.in_place}) {
      if (!*place || (*place)->samples_s.size() < 5) continue;
      ++places;
      const auto& seen = **place;
      const double part = seen.time_s > 0 ? seen.skew_s / seen.time_s : 0;
      if (seen.skew_s < kLeastSkew || seen.late_share < kLeastShare || part < kLeastPart) continue;
      ++votes[seen.late_rank];
      if (part <= worst_part) continue;
      worst_part = part;
      worst = SlowRank{seen.late_rank, seen.skew_s, seen.late_share, row.counts.bytes};
    }
  }
  // One size may be unlucky; a slow rank is slow at most of them.
  if (!worst || 2 * votes[worst->rank] < places) return std::nullopt;
  return worst;
}

std::string set_or_not(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? name + " is not set" : name + "=" + found->second;
}

std::string link_cause(const std::optional<MeasuredLinks>& links) {
  if (!links) return "topology: `warpmark links` shows which pair has no NVLink, or a slow link; --links takes it";
  if (links->slowest >= kEvenLinks * links->median) {
    return fmt::format("links are even: the slowest, {}, carries {}, the median {}", links->where,
                       format_si(links->slowest, "B/s"), format_si(links->median, "B/s"));
  }
  return fmt::format("the link {} is slow: {}, where the median of all carries {}", links->where,
                     format_si(links->slowest, "B/s"), format_si(links->median, "B/s"));
}

void add_causes(const Sweep& sweep, const Expectation& expectation,
                const std::map<std::string, std::string>& environment, Judgement& judgement) {
  auto& causes = judgement.causes;
  for (const int rank : judgement.wrong_ranks) {
    const std::string host = sweep.head && static_cast<std::size_t>(rank) < sweep.head->hosts.size()
                                 ? sweep.head->hosts[static_cast<std::size_t>(rank)]
                                 : "";
    causes.push_back(fmt::format("rank {}{} received wrong data: memory or link of that rank, or of who sent it", rank,
                                 host.empty() ? "" : " on " + host));
  }
  for (const auto& slow : judgement.slow) {
    causes.push_back(fmt::format("rank {} is slow: it calls {} after the first one, last in {} of the iterations",
                                 slow.rank, format_seconds(slow.skew_s), format_percent(slow.share)));
  }
  const bool below = std::any_of(judgement.sizes.begin(), judgement.sizes.end(),
                                 [](const auto& size) { return size.verdict == SizeVerdict::below; });
  if (!below) return;
  if (!sweep.head || sweep.head->engine != "nccl") {
    causes.push_back("ranks on one host go through memory: are they bound to cores of one socket, and is it idle?");
    return;
  }
  causes.push_back(set_or_not(environment, "NCCL_DEBUG") +
                   ": with NCCL_DEBUG=INFO, lines with \"via\" show which path each pair takes (P2P, SHM, NET)");
  causes.push_back(link_cause(expectation.links));
  causes.push_back(set_or_not(environment, "NCCL_IB_DISABLE") +
                   ": 1 sends what goes between hosts over TCP instead of InfiniBand or RoCE");
  causes.push_back(set_or_not(environment, "NCCL_NET_GDR_LEVEL") +
                   ": a low level keeps the network card from reading GPU memory directly");
}

constexpr double kSmallest = 64.0 * (1 << 20);  // bytes of the first column; each next one is four times as large

struct Reach {
  Collective kind;
  std::array<double, 4> two, four;  ///< 64 MiB, 256 MiB, 1 GiB, 4 GiB
};

constexpr Reach kReach[] = {
    {Collective::all_reduce, {0.671, 0.749, 0.821, 0.863}, {0.784, 0.853, 0.889, 0.908}},
    {Collective::all_gather, {0.536, 0.613, 0.671, 0.719}, {0.666, 0.767, 0.818, 0.857}},
    {Collective::reduce_scatter, {0.524, 0.596, 0.687, 0.751}, {0.674, 0.763, 0.819, 0.861}},
    {Collective::alltoall, {0.609, 0.708, 0.829, 0.845}, {0.672, 0.742, 0.843, 0.880}},
    {Collective::sendrecv, {0.681, 0.767, 0.901, 0.913}, {0.393, 0.758, 0.901, 0.912}},
    {Collective::broadcast, {0.803, 0.889, 0.910, 0.918}, {0.786, 0.875, 0.901, 0.908}},
    {Collective::reduce, {0.841, 0.905, 0.924, 0.927}, {0.804, 0.887, 0.909, 0.916}},
    {Collective::gather, {0.787, 0.882, 0.910, 0.928}, {0.910, 0.931, 0.937, 0.941}},
    {Collective::scatter, {0.774, 0.866, 0.912, 0.924}, {0.832, 0.902, 0.919, 0.928}},
};

constexpr int kMeasuredGeneration = 4;

}  // namespace

Judgement judge(const Sweep& sweep, const Expectation& asked, const std::map<std::string, std::string>& environment) {
  const Expectation expectation = between_hosts(asked, sweep);
  Judgement judgement;
  std::set<int> wrong;
  for (const auto& row : sweep.rows) {
    for (const bool in_place : {false, true}) {
      const auto& place = in_place ? row.in_place : row.out_of_place;
      if (!place) continue;
      judgement.sizes.push_back(judge_one(row, *place, in_place, expectation));
      for (std::size_t rank = 0; rank < place->wrong_ranks.size(); ++rank) {
        if (place->wrong_ranks[rank] > 0) wrong.insert(static_cast<int>(rank));
      }
    }
  }
  judgement.wrong_ranks.assign(wrong.begin(), wrong.end());
  if (const auto slow = slow_rank(sweep)) judgement.slow.push_back(*slow);
  const auto count = [&](SizeVerdict verdict) {
    return std::count_if(judgement.sizes.begin(), judgement.sizes.end(),
                         [&](const auto& size) { return size.verdict == verdict; });
  };
  const auto below = count(SizeVerdict::below), bad = count(SizeVerdict::wrong), good = count(SizeVerdict::good);
  judgement.passed = below == 0 && bad == 0 && judgement.slow.empty();
  if (bad > 0) {
    judgement.summary = fmt::format("Wrong data at {} of {} measurements.", bad, judgement.sizes.size());
  } else if (below > 0) {
    judgement.summary = fmt::format("Slower than expected at {} of {} judged measurements.", below, below + good);
  } else if (!judgement.slow.empty()) {
    judgement.summary = fmt::format("Rank {} makes the others wait.", judgement.slow.front().rank);
  } else if (good > 0) {
    judgement.summary = fmt::format("As fast as expected at all {} judged measurements.", good);
  } else if (hosts_of(sweep) > 1 && expectation.fabric == 0) {
    judgement.summary = fmt::format(
        "Speed is not judged: the network of the {} hosts is unknown; give --fabric or --against.", hosts_of(sweep));
  } else {
    judgement.summary = fmt::format("Speed is not judged: {}give --fabric or --against.", expectation.unjudged);
  }
  add_causes(sweep, expectation, environment, judgement);
  return judgement;
}

double share_of_network(Collective kind, int ranks, int hosts) {
  if (hosts < 2 || ranks < hosts || ranks % hosts != 0) return 0;
  const double all = ranks, of_host = all / hosts;
  switch (kind) {
    case Collective::all_reduce:
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::reduce: return 1;
    case Collective::alltoall: return (all - 1) / (of_host * (all - of_host));
    case Collective::sendrecv: return 1 / of_host;
    case Collective::gather:
    case Collective::scatter: break;  // by how many ports the root's host takes them differs
  }
  return 0;
}

double nvlink_fabric(int nvlink_version, int links) {
  // By NVML's numbers: 1 is NVLink 1, 2 and 3 are NVLink 2, 4 and 5 NVLink 3, 6 NVLink 4, 7 NVLink 5. Data sheets: 300,
  // 600, 900 and 1800 GB/s of NVLink 2 to 5 with 6, 12, 18 and 18 links, both directions together.
  if (nvlink_version < 1 || nvlink_version > 7) return 0;
  const double rate = nvlink_version == 7 ? 50e9 : nvlink_version == 1 ? 20e9 : 25e9;
  return rate * links * 8 / 9;
}

// As nccl-tests 2.19.6 measured it out of place, in f32, with NCCL 2.28.9 on two and on four of four H200 with 18
// NVLinks each: two runs of each (docs/results/collectives.md).

double usual_reach(Collective kind, int ranks, std::int64_t bytes) {
  const auto* found =
      std::find_if(std::begin(kReach), std::end(kReach), [&](const Reach& r) { return r.kind == kind; });
  if (found == std::end(kReach)) return 1;
  const auto& columns =
      ranks < 4 ? found->two : found->four;  // more ranks were seen to reach no less: 361 of 8, 355 of 4
  const double last = static_cast<double>(columns.size() - 1);
  const double at = std::clamp(std::log(static_cast<double>(bytes) / kSmallest) / std::log(4.0), 0.0, last);
  const auto left = static_cast<std::size_t>(std::min(std::floor(at), last - 1));
  return columns[left] + (at - static_cast<double>(left)) * (columns[left + 1] - columns[left]);
}

int nvlink_generation(int nvlink_version) {
  constexpr std::array kGenerations{0, 1, 2, 2, 3, 3, 4, 5};
  const bool known = nvlink_version >= 0 && nvlink_version < static_cast<int>(kGenerations.size());
  return known ? kGenerations[static_cast<std::size_t>(nvlink_version)] : 0;
}

bool reach_was_measured(int nvlink_version) { return nvlink_generation(nvlink_version) == kMeasuredGeneration; }

Expectation expectation_of_nvlinks(int nvlink_version, int links) {
  Expectation expectation{.fabric = nvlink_fabric(nvlink_version, links)};
  if (!(expectation.fabric > 0)) return expectation;
  if (reach_was_measured(nvlink_version)) {
    expectation.usual = true;
    expectation.source = fmt::format("what {} NVLinks usually reach", links);
    return expectation;
  }
  const int generation = nvlink_generation(nvlink_version);
  expectation.source = fmt::format("NVLink {}, {} links", generation, links);
  expectation.unjudged =
      fmt::format("what share of NVLink {} collectives usually reach was not measured; ", generation);
  return expectation;
}

}  // namespace warpmark::collectives
