// Matrix: variants over axes (precision, batch size, any flag or variable), each measured by the same command in
// alternation, against a baseline. JSON: "warpmark.matrix/1" (docs/schema/matrix.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/comparison.h"
#include "model/machine.h"
#include "model/metric.h"

namespace warpmark {

inline constexpr const char* kMatrixSchema = "warpmark.matrix/1";

struct MatrixAxis {
  std::string name;
  std::vector<std::string> labels;
};

struct MatrixMetric {
  std::string id;
  std::string unit;
  Better better = Better::lower;
};

/// One metric of one variant. Absent values have no cell.
struct MatrixCell {
  std::size_t metric = 0;  ///< index into Matrix::metrics
  std::vector<double> values;
  double median = 0;
  std::optional<Interval> interval;
  std::optional<MetricVerdict> verdict;
};

struct MatrixVariant {
  std::string name;
  std::vector<std::size_t> choice;  ///< of each axis, index into its labels
  bool baseline = false;
  std::int64_t runs = 0;
  std::int64_t failures = 0;
  bool stopped_early = false;
  std::string reason;
  std::string hint;
  bool on_front = false;
  std::string command;
  std::vector<MatrixCell> cells;
};

struct Matrix {
  std::string id;
  std::string name;
  std::string summary;
  std::string started;
  std::string command;
  std::string file;
  std::string currency;  ///< of prices; empty if there are none
  std::int64_t rounds = 0;
  std::uint64_t seed = 0;
  double effect = 0.01;
  double alpha = 0.05;
  std::string stopped_because;
  std::vector<MatrixAxis> axes;
  std::vector<MatrixMetric> metrics;
  std::vector<std::string> objectives;
  std::vector<MatrixVariant> variants;
  std::vector<std::string> notes;
  Machine machine;
  Build build;
};

/// The cell of a metric, or nullptr.
[[nodiscard]] const MatrixCell* cell_of(const MatrixVariant& variant, std::size_t metric);

[[nodiscard]] Json to_json(const Matrix& matrix);
/// Data error for a variant of an axis, label or metric that the document does not declare.
[[nodiscard]] Result<Matrix> matrix_from_json(const Json& json);

}  // namespace warpmark
