// OpenBLAS, loaded when something is to be multiplied: at its load it makes its threads and memory, which verbs that do
// not compute have no use for, and at a limit of memory (ulimit -v) it tries for ever.
#pragma once

#include <cblas.h>

#include "base/result.h"

namespace warpmark::workloads {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&openblas_get_config) config = nullptr;
  decltype(&openblas_get_corename) corename = nullptr;
};

/// Loaded at the first call, for good. Environment error where it is not installed.
[[nodiscard]] Result<const OpenBlas*> openblas();

}  // namespace warpmark::workloads
