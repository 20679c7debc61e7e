#include "workloads/cpu_libraries.h"

#include <dlfcn.h>
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

namespace {

template <typename Function>
void take(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
}

OpenBlas load() {
  OpenBlas blas;
  void* library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);  // the executable's RPATH says where
  if (library == nullptr) return blas;
  take(library, "cblas_sgemm", blas.sgemm);
  take(library, "cblas_dgemm", blas.dgemm);
  take(library, "openblas_get_config", blas.config);
  take(library, "openblas_get_corename", blas.corename);
  return blas;
}

}  // namespace

Result<const OpenBlas*> openblas() {
  static const OpenBlas blas = load();
  if (blas.sgemm && blas.dgemm && blas.config && blas.corename) return &blas;
  return environment_error("libopenblas.so.0 cannot be loaded", "apt install libopenblas0-openmp, or use impl=onednn");
}

}  // namespace warpmark::workloads
