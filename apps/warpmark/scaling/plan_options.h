// Values of options that both kinds of `warpmark plan` look at, checked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "collectives/alpha_beta.h"
#include "validate/scaling/training_plan.h"

namespace warpmark::apps {

// Links as sweeps of `warpmark collective` measured them, which `warpmark plan` computes with.

/// A sweep, and the link that it shows.
struct MeasuredLink {
  std::vector<collectives::Row> rows;
  collectives::LinkFit fit;
  int ranks = 0;
  int hosts = 1;
  [[nodiscard]] int per_host() const { return (ranks + hosts - 1) / hosts; }
};

/// By their number of ranks. Data error for a file that is no sweep of all_reduce, usage error for two of as many
/// ranks.
[[nodiscard]] Result<std::map<int, MeasuredLink>> read_sweeps(const std::vector<std::string>& files);

/// How GPUs beyond one node are reckoned.
enum class Network {
  unknown,   ///< nothing tells: as if the link of one host joined them all
  reported,  ///< by the user
  fitted,    ///< to a sweep over hosts, less what one within a host takes
  flat,      ///< every sweep went over hosts: one link for all
  supposed,  ///< by nobody: the default of a plan of a model
};

/// Sweeps, what the user tells, and what follows for other numbers of GPUs.
struct PlanLinks {
  std::map<int, MeasuredLink> sweeps;
  int per_node = 1;
  std::optional<MeasuredLink> within;  ///< of the sweeps on one host that of the most ranks
  std::optional<MeasuredLink> over;    ///< of those over several
  Network network = Network::unknown;
  collectives::LinkFit between;  ///< where it is told or fitted
  /// The one that other numbers of GPUs are reckoned from, of one node.
  [[nodiscard]] const MeasuredLink& base() const { return within ? *within : *over; }
};

/// What is given beside the sweeps.
struct GivenLinks {
  std::optional<int> per_node;  ///< else the ranks that a host had
  std::optional<collectives::Link> between;
};

/// Usage error where a network is told and measured. At least one sweep.
[[nodiscard]] Result<PlanLinks> plan_links(std::map<int, MeasuredLink> sweeps, const GivenLinks& reported);

/// Seconds of an all_reduce among so many GPUs: measured where a sweep is of as many on as many hosts.
[[nodiscard]] double all_reduce_s(const PlanLinks& links, double bytes, int gpus);

/// These GPUs are reckoned with the link of one host, though they do not fit on it as far as anything tells.
[[nodiscard]] bool link_is_assumed(const PlanLinks& links, int gpus);

/// Above 0, and `most` at most. Usage error where it is needed and missing.
[[nodiscard]] Result<double> number_option(const ParsedOptions& options, const char* name, double otherwise,
                                           bool needed = false, double most = 1e9);

/// None and all of it are possible, too.
[[nodiscard]] Result<double> contention_of(const ParsedOptions& options, double otherwise);

struct CompressionChoice {
  validate::Compression kind = validate::Compression::half;
  int power_sgd_rank = 4;
};
[[nodiscard]] Result<CompressionChoice> compression_of(const ParsedOptions& options, const char* otherwise);

/// --per-node, --between and --between-alpha as far as they are given.
[[nodiscard]] Result<GivenLinks> given_links(const ParsedOptions& options);

/// "2,4,8", in this order; each from `least` up.
[[nodiscard]] Result<std::vector<int>> gpu_counts(const ParsedOptions& options, const char* name, const char* otherwise,
                                                  int least);

}  // namespace warpmark::apps
