// Names and versions of the CPU math libraries that are linked in.
#pragma once

#include <string>
#include <vector>

namespace warpmark::workloads {

/// {"OpenBLAS 0.3.21", "oneDNN 2.6.3"}; asks the libraries themselves.
[[nodiscard]] std::vector<std::string> cpu_libraries();

}  // namespace warpmark::workloads
