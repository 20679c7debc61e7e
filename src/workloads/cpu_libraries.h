// The CPU math libraries: names and versions, and OpenBLAS, which is loaded when something is multiplied: at its load
// it makes threads and memory that other verbs do not need, and under a memory limit (ulimit -v) it retries for ever.
#pragma once

#include <cblas.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::workloads {

/// {"OpenBLAS 0.3.21", "oneDNN 2.6.3"}; asks the libraries themselves.
[[nodiscard]] std::vector<std::string> cpu_libraries();

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&openblas_get_config) config = nullptr;
  decltype(&openblas_get_corename) corename = nullptr;
};

/// Loaded at the first call, for good. Environment error where it is not installed.
[[nodiscard]] Result<const OpenBlas*> openblas();

}  // namespace warpmark::workloads
