// What a sweep is to do, as every rank is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "collectives/calls/operation.h"
#include "model/fields/fields_fwd.h"

namespace warpmark::collectives {

enum class Fault { none, wrong_byte, slow, dead, stopped, unequal };

/// A fault made on purpose, to see that it is found: "slow:1:2ms", "dead:1".
struct Plant {
  Fault fault = Fault::none;
  int rank = 0;
  double delay_s = 0;  ///< of a slow rank, before every call
};
/// Usage error with the list of faults.
[[nodiscard]] Result<Plant> parse_plant(std::string_view text);
[[nodiscard]] std::string to_text(const Plant& plant);

/// How the times of the ranks become one, as nccl-tests' -a: that of rank 0, their mean, least, or largest.
enum class RankAverage { rank0, mean, least, largest };

struct Plan {
  Collective kind = Collective::all_reduce;
  DataType type = DataType::f32;
  std::vector<ReduceOp> ops{ReduceOp::sum};
  std::vector<std::int64_t> sizes;
  int root = 0;
  int iterations = 20;
  int warmups = 1;
  bool check = true;
  int graph = 0;  ///< replays of the calls as one CUDA graph; 0: none
  bool out_of_place = true;
  bool in_place = true;
  RankAverage average = RankAverage::mean;
  double timeout_s = 60;  ///< without progress
  std::string engine = "mpi";
  int gpus = 0;                 ///< that one process drives, NCCL
  std::int64_t pool_bytes = 0;  ///< most memory a side for sets of buffers; 0: by the engine
  Plant plant;
  int launcher = 0;  ///< process that started the ranks, where it is; they end with it
  std::string launcher_host;
};

extern const RecordOf<Plan> kPlan;
[[nodiscard]] Json to_json(const Plan& plan);
[[nodiscard]] Result<Plan> plan_from_json(const Json& json);

}  // namespace warpmark::collectives
