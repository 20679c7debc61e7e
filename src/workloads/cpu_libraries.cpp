#include "workloads/cpu_libraries.h"

#include <fmt/format.h>
#include <openblas_config.h>
#include <dnnl.hpp>

#include "base/text.h"

namespace warpmark::workloads {

std::vector<std::string> cpu_libraries() {
  const auto* onednn = dnnl::version();
  return {std::string(trim(OPENBLAS_VERSION)),  // the library itself is loaded where it is used
          fmt::format("oneDNN {}.{}.{}", onednn->major, onednn->minor, onednn->patch)};
}

}  // namespace warpmark::workloads
