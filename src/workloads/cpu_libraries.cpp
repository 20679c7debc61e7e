#include "workloads/cpu_libraries.h"

#include <cblas.h>
#include <fmt/format.h>
#include <dnnl.hpp>

#include "base/text.h"

namespace warpmark::workloads {

std::vector<std::string> cpu_libraries() {
  const auto* onednn = dnnl::version();
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the first two words.
  const auto openblas = split(openblas_get_config(), ' ');
  return {openblas.size() >= 2 ? openblas[0] + " " + openblas[1] : "OpenBLAS",
          fmt::format("oneDNN {}.{}.{}", onednn->major, onednn->minor, onednn->patch)};
}

}  // namespace warpmark::workloads
