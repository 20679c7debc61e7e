// Outputs to compare, as named columns of numbers or texts, from files: .csv, .tsv and .txt tables, .json (each path to
// a value is a column; values of a list share one), .npy arrays and .npz archives of them, .safetensors. Values are
// read as double; integers above 2^53 are kept as texts, so that they are compared exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

}  // namespace warpmark::accuracy
