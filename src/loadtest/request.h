// What a load test is asked for: plain data, with the defaults of `warpmark load run`. loadtest/options.h has the
// option that gives each member.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "loadtest/target.h"
#include "model/params.h"
#include "serving/client/prepare_load.h"
#include "serving/results/evaluate_load.h"
#include "serving/results/mlperf.h"

namespace warpmark::loadtest {

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

/// A built-in network in the user's PyTorch.
struct NetworkRequest {
  Overrides set;
  std::string device = "cpu";
};

/// Where results go beside the report that is returned; empty names are not written.
struct LoadFiles {
  std::string json, html, requests_csv, vllm_json;
  std::string folder_name, base_folder;  ///< of an experiment
  std::string database;                  ///< a file or a URL; empty: the user's own
  bool resumes = false;
  bool stores = true;
};

struct LoadRequest {
  TargetRequest server;
  LevelsRequest levels;
  serving::Traffic traffic;  ///< what all loads have in common
  LoadFiles files;
  std::string workload;                          ///< a network instead of a server; empty for a server
  NetworkRequest network;                        ///< of the workload
  std::string task;                              ///< whose questions are asked; empty without
  std::string engine, engine_version, gpu_type;  ///< labels
  serving::EvaluationOptions evaluation;
  std::vector<std::string> goodput;
  bool calibrate = true;
  double request_timeout_s = 600;
  double stall_timeout_s = 120;
  double drain_s = 30;
  bool keep_connections = true;
  std::int64_t most_in_flight = 0;  ///< open loop
  int threads = 1;
  LoadPrecision precision;
  /// Above 0: search for the highest load that meets the objectives, from that of the first step up to this.
  double search_most = 0;
  double max_error_rate = 0;  ///< ends a load; 0 without limit
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
  /// The options as they were given, by name, for the report; some make a load another one (LoadStep::parameters).
  std::map<std::string, std::vector<std::string>> given;
};

/// Half the interval of a percentile: "ttft:p99<5%".
[[nodiscard]] Result<LoadPrecision> parse_precision(const std::string& text);
/// Minutes, as genai-bench counts, or with a unit.
[[nodiscard]] Result<double> parse_run_time(const std::string& text);

}  // namespace warpmark::loadtest
