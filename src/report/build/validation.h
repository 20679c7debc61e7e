// What `warpmark validate` says: its verdict, the A/B comparison, and the history that OPTIMIZED was checked against.
// Pure.
#pragma once

#include <string>

#include "model/check.h"
#include "model/comparison.h"
#include "model/report.h"

namespace warpmark::report {

struct Validation {
  std::string verdict;  ///< "validated", "no_gain", ...
  std::string why;
  const Comparison& comparison;
  const Check* check = nullptr;
  std::string no_check;  ///< why there is none
};

[[nodiscard]] Report build_report(const Validation& validation);

}  // namespace warpmark::report
