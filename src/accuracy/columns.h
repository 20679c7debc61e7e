// Outputs to compare, as named columns of numbers or texts, from files: .csv, .tsv and .txt tables, .json (each path to
// a value is a column; values of a list share one), .npy arrays and .npz archives of them, .safetensors. Values are
// read as double; integers above 2^53 are kept as texts, so that they are compared exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark::accuracy {

struct Column {
  std::string name;
  bool numeric = true;
  bool whole = false;  ///< all numbers are integers by their type or their writing
  std::vector<double> numbers;
  std::vector<std::string> texts;   ///< of a column that is not numeric
  std::vector<std::int64_t> shape;  ///< of arrays; empty for tables
  /// Of JSON: where in the lists each value stands, list by list from the outermost; empty for others.
  std::vector<std::int64_t> places = {};
  [[nodiscard]] std::size_t size() const { return numeric ? numbers.size() : texts.size(); }
};

using Columns = std::vector<Column>;

/// By the file's extension. Usage error for an unknown one; data error with the place for what cannot be read.
[[nodiscard]] Result<Columns> read_columns(const std::string& path);

/// Puts the rows of `out` into the order of the reference by a column of keys. Data error for keys that only one has,
/// or one has twice; usage error where there is no such column.
[[nodiscard]] Status align_by_key(const Columns& reference, Columns& out, const std::string& key);

/// The first column of texts or whole numbers whose values are the same keys on both sides in another order; else
/// empty.
[[nodiscard]] std::string key_in_another_order(const Columns& reference, const Columns& out);

/// RFC 4180, any separator. A first row in which all fields are numbers, or one has a fraction, is no header: its
/// columns are "column 1" and so on. A column is numeric if all its fields are numbers (also nan, inf), and it has any.
[[nodiscard]] Result<Columns> parse_table(std::string_view text, char separator, std::string_view name);
[[nodiscard]] Result<Columns> parse_json_columns(std::string_view text, std::string_view name);
/// Format versions 1 to 3 in C order; bool, integers and floats of the host's byte order.
[[nodiscard]] Result<Columns> parse_npy(std::string_view bytes, std::string_view name);
/// Arrays by their names in the archive, stored or deflated. Data error for other files in it and for damage.
[[nodiscard]] Result<Columns> parse_npz(std::string_view bytes, std::string_view name);
[[nodiscard]] Result<Columns> parse_safetensors(std::string_view bytes, std::string_view name);

// Are two outputs the same within tolerance? |out - ref| <= atol + rtol |ref|, element by element, as NumPy's allclose:
// the second side is the reference. Texts, columns that must be exact, and columns that hold integers on both sides and
// have no tolerance of their own are compared as they are. NaN equals nothing unless asked for; infinities equal only
// themselves. Pure.

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-3;
};

struct AllcloseOptions {
  Tolerance tolerance;
  std::vector<std::pair<std::string, Tolerance>> by_column;  ///< globs; the last that matches counts
  std::vector<std::string> exact;                            ///< globs of columns that must be equal
  bool equal_nan = false;
  std::size_t most_offenders = 5;  ///< listed a column
};

struct Offender {
  std::int64_t index = 0;  ///< row, or place in the array
  std::string reference;
  std::string out;
  double excess = 0;  ///< |out - ref| over what is allowed; infinite where nothing is allowed or one is NaN
};

struct ColumnResult {
  std::string name;
  std::int64_t n = 0;
  std::int64_t mismatches = 0;
  std::string problem;              ///< missing, another shape or type: nothing was compared
  bool whole = false;               ///< mismatches of integers that a tolerance of their own would allow
  double max_absolute = 0;          ///< of finite pairs
  double max_relative = 0;          ///< of finite pairs with a reference that is not 0
  double relative_error = 0;        ///< ||out - ref|| / ||ref||; 1e300 where a value is not finite
  std::vector<Offender> offenders;  ///< the worst first
  [[nodiscard]] bool ok() const { return problem.empty() && mismatches == 0; }
};

/// All columns of the reference in their order, then those that only the output has.
[[nodiscard]] std::vector<ColumnResult> allclose(const Columns& reference, const Columns& out,
                                                 const AllcloseOptions& options);

}  // namespace warpmark::accuracy
