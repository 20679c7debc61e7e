// What a sweep measures, as plain data: the lines by which a rank reports it, and where the loops of the ranks lie in
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "collectives/calls/engine.h"
#include "collectives/calls/operation.h"
#include "collectives/calls/plan.h"
#include "model/fields/fields_fwd.h"

namespace warpmark::collectives {

/// One size, out of place or in place.
struct Placement {
  double time_s = 0;                      ///< of one call: mean over the iterations, over ranks as asked for
  std::vector<double> samples_s;          ///< of each iteration, mean over ranks
  std::vector<double> rank_s;             ///< of each rank, mean over iterations
  std::optional<std::int64_t> wrong;      ///< elements; nothing: not checked, or there is nothing to be checked
  std::vector<std::int64_t> wrong_ranks;  ///< of each rank, where any is wrong
  double skew_s = 0;                      ///< median over iterations of the time from the first to the last rank's call
  int late_rank = -1;                     ///< the rank that came last most often
  double late_share = 0;                  ///< in what share of the iterations
};

struct Row {
  Collective kind = Collective::all_reduce;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  int ranks = 1;
  Counts counts;
  std::optional<Placement> out_of_place;
  std::optional<Placement> in_place;
};

[[nodiscard]] double algorithm_bandwidth(const Row& row, const Placement& place);  ///< B/s
[[nodiscard]] double bus_bandwidth(const Row& row, const Placement& place);        ///< B/s

/// What is said once, before the first row.
struct Head {
  std::string engine;
  std::string version;
  std::vector<std::string> ranks;  ///< a line each: process, host, device
  std::vector<std::string> hosts;  ///< of each rank
  double copy_rate = 0;            ///< see Engine::copy_rate; of the slowest rank
  std::vector<std::string> notes;
};

/// A sweep as far as it came.
struct Sweep {
  std::optional<Head> head;
  std::vector<Row> rows;
  bool complete = false;
  int round = 0;  ///< where several settings are measured in turn
};

/// A rank that made no progress for as long as it may.
struct Stuck {
  int rank = 0;
  std::string host;
  std::string doing;
};

extern const RecordOf<Row> kRow;
extern const RecordOf<Head> kHead;
[[nodiscard]] Json to_json(const Row& row);
[[nodiscard]] Json to_json(const Head& head);
[[nodiscard]] Result<Row> row_from_json(const Json& json);
[[nodiscard]] Result<Head> head_from_json(const Json& json);

/// "@warpmark row {...}": lines that are ours among what MPI prints.
[[nodiscard]] std::string message_line(std::string_view kind, const Json& json);
struct Message {
  std::string kind;  ///< "head", "row", "done", "stuck", "error"
  std::string text;  ///< JSON
};
/// Nothing for a line that is none of ours.
[[nodiscard]] std::optional<Message> message_of(std::string_view line);

/// `loops` and `offsets_ns` are by rank; without offsets the loops' begins are of one clock.
[[nodiscard]] Placement placement_of_loops(const std::vector<RankLoop>& loops,
                                           const std::vector<std::int64_t>& offsets_ns, RankAverage average);

}  // namespace warpmark::collectives
