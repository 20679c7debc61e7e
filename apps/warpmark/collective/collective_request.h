// The command line of `warpmark collective`, checked: what to measure, how to start it, how to judge it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/calls/plan.h"
#include "collectives/results/tuning.h"
#include "collectives/results/verdict.h"
#include "collectives/start/launch.h"
#include "model/run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct CollectiveRequest {
  collectives::Plan plan{.warmups = 5};
  std::string asked_engine = "auto", preset, place = "both";
  std::optional<int> ranks, gpus;
  std::optional<std::int64_t> from, to;
  double factor = 8;
  std::int64_t step = 0;  ///< instead of a factor
  std::optional<collectives::DataType> type;
  std::optional<double> fabric;
  std::vector<std::string> sweeps;
  bool tunes = false;
  bool nvls = false;
  std::optional<int> asked_rounds;
  std::string against, links;  ///< sessions
  std::string as_rank;         ///< a plan
  bool alone = false;
  collectives::LaunchOptions launch;
  collectives::Expectation expectation;
  std::optional<Session> baseline;              ///< of --against
  std::vector<collectives::Settings> settings;  ///< to compare; empty: none
  int rounds = 1;
  std::string format = "text";
};

[[nodiscard]] std::span<const OptionSpec> collective_options();
[[nodiscard]] Result<CollectiveRequest> collective_request_of(const Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
