// What `warpmark load run` was asked to do, from its options.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "serving/client/prepare_load.h"
#include "serving/results/evaluate_load.h"
#include "serving/results/mlperf.h"
#include "warpmark/command.h"
#include "warpmark/load/load_models.h"
#include "warpmark/load/load_target.h"

namespace warpmark::apps {

struct LoadQuestions;

/// One scenario at one concurrency or rate.
struct LoadStep {
  serving::Traffic traffic;
  /// All that makes it what it is beside scenario, arrivals, level, batch and turns; what is as usual is left out.
  std::map<std::string, std::string> parameters;
  double level = 0;  ///< users or requests/s
};

/// What loads come of, besides what serving::Traffic says.
struct LevelsRequest {
  std::vector<std::string> scenarios;
  std::vector<std::int64_t> users, batches, turns;
  std::vector<double> rates;
  std::string arrivals = "poisson", trace, dataset, dataset_column = "prompt";
  std::optional<std::uint64_t> seed;  ///< prompts repeat from run to run
};

/// Stop when the interval of this metric's percentile is narrower than this share of it.
struct LoadPrecision {
  double share = 0;
  std::string metric = "ttft";
};

struct LoadRequest {
  TargetRequest asked;  ///< of the target
  serving::Target target;
  std::string workload;    ///< a built-in network instead of the target; empty for a server
  NetworkRequest network;  ///< of the workload
  std::vector<LoadStep> steps;
  std::string task;  ///< of --eval
  std::string engine, engine_version, gpu_type;
  std::vector<std::pair<std::string, std::string>> labels;  ///< "engine", "gpu_type", ...
  serving::EvaluationOptions evaluation;
  std::vector<std::string> goodput;
  bool calibrate = true;
  double request_timeout_s = 600;
  double stall_timeout_s = 120;
  double drain_s = 30;
  bool keep_connections = true;
  bool every_gap = false;           ///< between tokens is kept, however many they are
  std::int64_t most_in_flight = 0;  ///< open loop
  int threads = 1;
  LoadPrecision precision;
  /// Above 0: search for the highest load that meets the objectives, from that of the first step up to this.
  double search_most = 0;
  double max_error_rate = 0;  ///< ends a load; 0 without limit
  std::uint64_t seed = 1;     ///< of the whole command; loads derive theirs
  bool seed_given = false;    ///< by --seed: prompts repeat from run to run
  std::optional<serving::MlperfRules> mlperf;
  std::optional<double> least_duration_s;
  std::optional<std::int64_t> least_queries;
  std::int64_t most_batched = 1;            ///< of a workload's queries in the scenario Server
  std::optional<std::int64_t> sweep_rates;  ///< sweep, with so many rates between idle and saturation
  int clients = 0;                          ///< started by mpirun or srun; 0: this process is the client
  std::string hosts;                        ///< file of hosts for mpirun
  std::vector<std::string> telemetry;       ///< "nvml", or URLs of Prometheus' pages
  std::int64_t gpus = 0;                    ///< of the server; 0: not told
  std::optional<double> gpu_hour_price;
  double price_per_hour = 0;                       ///< of all GPUs of the server
  std::shared_ptr<const LoadQuestions> questions;  ///< of --eval; may be null
  std::vector<std::string> notes;
};

/// Half the interval of a percentile: "ttft:p99<5%".
[[nodiscard]] Result<LoadPrecision> parse_precision(const std::string& text);
/// Minutes, as genai-bench counts, or with a unit.
[[nodiscard]] Result<double> parse_run_time(const std::string& text);

/// One a scenario, level, batch size and number of turns. `task`: of the scenarios, where none is given.
[[nodiscard]] Result<std::vector<LoadStep>> load_steps_of(const ParsedOptions& options, const char* task);

[[nodiscard]] Result<LoadRequest> load_request_of(const Context& context, const ParsedOptions& options);

}  // namespace warpmark::apps
