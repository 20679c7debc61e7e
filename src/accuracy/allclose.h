// Are two outputs the same within tolerance? |out - ref| <= atol + rtol |ref|, element by element, as NumPy's allclose:
// the second side is the reference. Texts, columns that must be exact, and columns that hold integers on both sides and
// have no tolerance of their own are compared as they are. NaN equals nothing unless asked for; infinities equal only
// themselves. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/columns.h"

namespace warpmark::accuracy {

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
