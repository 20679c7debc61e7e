// Whether a training converges suspiciously fast: MLPerf's reference convergence points (RCPs).
//
// A reference gives, for some batch sizes, what twice as many trainings needed as a result has. The mean without the
// extremes ("olympic") of a result must not be below the smallest that a one-sided t test with pooled variance does not
// reject at 5 %, with the reference's spread for both (training_rules.adoc, appendix on RCPs; mlcommons/logging,
// rcp_checker.py, which finds it by bisection: here it is solved).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_fwd.h"
#include "base/result.h"

namespace warpmark::exchange {

/// Of MLPerf's logging (mlcommons/logging): ":::MLLOG " and a JSON object of namespace, time_ms, event_type, key, value
/// and metadata, in whatever else a program prints.
struct MlLogEvent {
  std::int64_t line = 0;  ///< in the file, from 1
  double time_ms = 0;     ///< since 1970
  std::string key;
  Json value;
  Json metadata;  ///< an object, or null
};

/// All events in the order of the file. Text before ":::MLLOG " on a line is dropped (ranks and
/// times often are). Data error with file and line where JSON or a part is missing, and where there is no event.
[[nodiscard]] Result<std::vector<MlLogEvent>> read_mllog(const std::string& name, std::string_view text);

struct ReferencePoint {
  double batch = 0;
  double mean = 0;       ///< epochs or samples, without the extremes
  double spread = 0;     ///< standard deviation
  double minimum = 0;    ///< the least acceptable mean of a result
  bool between = false;  ///< interpolated
};

/// rcp_checker.py takes the spread of all trainings; training_rules.adoc asks for it without the extremes.
enum class Spread { without_extremes, of_all };

struct ConvergenceRules {
  int runs = 5;     ///< of a result
  int dropped = 1;  ///< at each end
  Spread spread = Spread::of_all;
  bool prune = true;     ///< leave out points that converge slower than interpolation between their neighbours
  double allowance = 0;  ///< epochs or samples below the minimum that are accepted, too
};

/// Mean of what is left when the `dropped` lowest and highest are taken away. Usage error where nothing is left.
[[nodiscard]] Result<double> olympic_mean(std::vector<double> values, int dropped);

/// Data error for too few trainings.
[[nodiscard]] Result<ReferencePoint> reference_point(double batch, std::vector<double> needed,
                                                     const ConvergenceRules& rules);

/// Points of one benchmark of a file as mlcommons/logging has them ({"bert_ref_256": {"Benchmark": "bert", "BS": 256,
/// "Epochs to converge" or "samples to converge": [...]}, ...}), by batch. Data error where it is none, or has none of
/// the benchmark.
[[nodiscard]] Result<std::vector<ReferencePoint>> read_references(const Json& json, const std::string& name,
                                                                  const std::string& benchmark,
                                                                  const ConvergenceRules& rules);

struct Convergence {
  bool accepted = false;
  double mean = 0;       ///< of the result
  double scale = 1;      ///< by which its score is multiplied: faster than the reference, but acceptable
  ReferencePoint point;  ///< what it was held against
  std::string why;       ///< of what is not accepted, or how the point was found
};

/// `needed`: of the result's trainings, infinite where one did not converge. Usage error for too few.
[[nodiscard]] Result<Convergence> judge_convergence(std::vector<ReferencePoint> points, double batch,
                                                    std::vector<double> needed, const ConvergenceRules& rules);

}  // namespace warpmark::exchange
