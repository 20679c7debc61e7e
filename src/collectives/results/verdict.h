// Is a sweep as fast as it should be, and right? Size by size, never by an average over sizes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/calls/operation.h"
#include "collectives/results/row.h"
#include "model/fields/names.h"

namespace warpmark::collectives {

/// A link is slow below this share of the median of its kind: healthy ones spread less.
inline constexpr double kEvenLinks = 0.85;

/// What `warpmark links` measured between GPUs, one direction.
struct MeasuredLinks {
  double slowest = 0;  ///< B/s
  double median = 0;   ///< B/s
  std::string where;   ///< the slowest: "GPU 0 -> GPU 3, write"
};

/// What a sweep is judged by. Without a fabric and a baseline, only its data and its ranks are.
struct Expectation {
  double fabric = 0;       ///< B/s that the link between ranks carries in use; 0: unknown
  std::string source;      ///< "given", "NVLink 4, 18 links", ...
  bool given = false;      ///< by the user: it holds wherever ranks are; else of NVLinks, and of ranks on one host
  bool usual = false;      ///< of it only usual_reach is expected, as a collective does not fill its links
  std::string unjudged{};  ///< why the fabric judges nothing; empty: it does
  double network = 0;      ///< B/s, all ports that join a host to others; 0: unknown
  double port = 0;         ///< B/s, the fastest of these
  std::string network_source{};
  std::optional<MeasuredLinks> links{};
  double share = 0.92;  ///< of that, which large sizes must reach
  std::int64_t large_bytes = 64 << 20;
  /// Bus bandwidth of an earlier sweep by size and placement (in place is true), B/s.
  std::map<std::pair<std::int64_t, bool>, double> baseline;
  double tolerance = 0.05;  ///< below the baseline
};

enum class SizeVerdict { good, below, wrong, not_judged };

struct Judged {
  std::int64_t bytes = 0;
  bool in_place = false;
  SizeVerdict verdict = SizeVerdict::not_judged;
  double busbw = 0;      ///< B/s
  double expected = 0;   ///< B/s; 0 where nothing is expected
  double of_fabric = 0;  ///< ratio; 0 where the fabric is not known
  double of_links = 0;   ///< ratio of the slowest measured link; 0 where none is known
  std::string reason;    ///< what it was judged by
};

/// A rank that calls later than the others, in sweeps that make them wait for it.
struct SlowRank {
  int rank = 0;
  double skew_s = 0;  ///< median, at the size where it is largest against the call's time
  double share = 0;   ///< of the iterations
  std::int64_t bytes = 0;
};

struct Judgement {
  std::vector<Judged> sizes;
  std::vector<SlowRank> slow;  ///< at most one
  std::vector<int> wrong_ranks;
  bool passed = true;
  std::string summary;              ///< one sentence
  std::vector<std::string> causes;  ///< likely ones, what to look at first
};

/// `environment` is looked at for the settings of NCCL that slow it down.
[[nodiscard]] Judgement judge(const Sweep& sweep, const Expectation& expectation,
                              const std::map<std::string, std::string>& environment);

inline constexpr auto kSizeVerdictNames = in_order(SizeVerdict::not_judged, "good", "below", "wrong", "-");
using warpmark::name_of;
constexpr Names names_of(SizeVerdict) { return kSizeVerdictNames; }

/// Bus bandwidth that ranks spread evenly over several hosts can have, over the rate of all ports of a host: what each
/// byte crosses between hosts, with a port a rank. Rings pass a host's ports once: 1. 0 where it is not known.
[[nodiscard]] double share_of_network(Collective kind, int ranks, int hosts);

/// What an NVLink of this generation carries in use a second and direction, all links of a GPU together: 8/9 of its
/// signalling rate, which is what the largest copies reach. 0 for what is not known.
[[nodiscard]] double nvlink_fabric(int nvlink_version, int links);

/// Ratio of the bus bandwidth to nvlink_fabric, of so many ranks on one host and `bytes` as nccl-tests' column "size",
/// from 64 MiB on; without NVLink's in-switch reductions.
[[nodiscard]] double usual_reach(Collective kind, int ranks, std::int64_t bytes);

/// The product's generation, as in "NVLink 4", of NVML's number of a link's version; 0 for one that is not known.
[[nodiscard]] int nvlink_generation(int nvlink_version);

/// Whether usual_reach was measured over NVLinks of this version: another generation's rate leaves other parts of a
/// collective in front.
[[nodiscard]] bool reach_was_measured(int nvlink_version);

/// Of `links` NVLinks in use of NVML's version: what a healthy machine was measured to reach of them. Of a generation
/// of which nothing was measured the fabric alone, which shares are told of; speed is then judged by a baseline or by
/// what is given, not by the reach of another generation.
[[nodiscard]] Expectation expectation_of_nvlinks(int nvlink_version, int links);

}  // namespace warpmark::collectives
