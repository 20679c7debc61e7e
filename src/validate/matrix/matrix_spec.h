// A matrix of variants as a YAML file (docs/matrix.md): the command, axes whose values fill it, which combinations
// count, the baseline, prices and objectives. Unknown keys and values are errors with the line and a suggestion.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/experiment.h"
#include "validate/commands/command_spec.h"

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

}  // namespace warpmark::validate
