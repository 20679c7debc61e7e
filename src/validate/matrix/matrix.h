// Running the variants of a matrix in alternation, and what their results say. Each round runs every variant once, in a
// random order of its own, each in a fresh process: a drift of the machine meets all alike, and a round's values are
// pairs with the baseline's. A variant that fails is reported and does not end the matrix.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/experiment.h"
#include "model/matrix.h"
#include "validate/commands/command_spec.h"
#include "validate/compare/compare_run.h"

namespace warpmark::validate {

inline constexpr const char* kMatrixFileSchema = "warpmark.matrix-file/1";

/// One value of an axis. It fills {axis} in the command (or sets the variable of an axis "env.NAME"); a list of words
/// takes the place of a word that is {axis} alone, so that an axis can be a launcher or a container.
struct MatrixValue {
  std::string label;
  std::vector<std::string> words;  ///< one for a single value
  bool spliced = false;            ///< given as a list
};

struct MatrixAxisSpec {
  std::string name;
  std::vector<MatrixValue> values;
};

/// One combination that is measured.
struct VariantSpec {
  std::string name;
  std::vector<std::size_t> choice;  ///< of each axis, index of its value
  bool baseline = false;
  CommandSpec command;        ///< with every value filled in
  double samples = 0;         ///< processed by one run; 0 is unknown
  double price_per_hour = 0;  ///< 0 is unknown
};

struct MatrixSpec {
  std::string name;
  std::string summary;
  std::vector<MatrixAxisSpec> axes;
  std::vector<VariantSpec> variants;
  std::int64_t rounds = 10;
  std::int64_t warmup_runs = 1;
  double effect = 0.01;
  std::string currency;
  std::vector<std::string> objectives;  ///< ids of metrics; empty: the usual ones (docs/matrix.md)
};

/// At most 20 axes, 100 000 combinations of their values and 1000 variants.
[[nodiscard]] Result<MatrixSpec> parse_matrix_spec(std::string_view yaml, std::string_view file_name);

/// A variant that has failed so often is not run any more.
inline constexpr std::int64_t kMostFailures = 2;

struct MatrixOptions {
  std::int64_t rounds = 10;
  std::int64_t warmup_runs = 1;  ///< of each variant, discarded; none where known samples are taken up
  std::uint64_t seed = 1;        ///< of the order
  double budget_s = 0;           ///< no round starts after it; 0 is without limit
  double effect = 0.01;
  double alpha = 0.05;
  const std::atomic<bool>* interrupted = nullptr;
};

struct MatrixEvents {
  /// Slot::variant is the variant. A failure ends the matrix.
  std::function<Status(const AbSample&)> sample_done;
  std::function<void(std::int64_t runs, std::int64_t most_runs)> progress;
  std::function<double()> clock_s;  ///< seconds from any origin; the monotonic clock if empty
};

struct MatrixRuns {
  std::vector<AbSample> samples;  ///< known ones first; failed runs have the outcome "error"
  std::string stopped_because;
  bool complete = false;  ///< all rounds were run
};

/// Runs variant number `i` once, by `run(i)`. `known` are the samples of an interrupted matrix of the same plan, in
/// order; data error if they are not its beginning. Errors are those of the events.
[[nodiscard]] Result<MatrixRuns> run_matrix(std::size_t variants, const std::function<Result<Run>(std::size_t)>& run,
                                            const MatrixOptions& options, std::vector<AbSample> known,
                                            const MatrixEvents& events);

/// Medians, derived metrics (throughput, energy and cost per 1000 samples), verdicts against the baseline (paired by
/// round, Holm over everything), and the front. Pure. Data error for an objective that is no metric.
[[nodiscard]] Result<Matrix> judge_matrix(const MatrixSpec& spec, const std::vector<AbSample>& samples,
                                          const MatrixOptions& options);

/// Which points no other is at least as good as in every coordinate and better than in one; lower is better. Points
/// with a coordinate that is not finite are never on the front.
[[nodiscard]] std::vector<bool> pareto_front(const std::vector<std::vector<double>>& points);

}  // namespace warpmark::validate
