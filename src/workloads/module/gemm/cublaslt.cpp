#include "workloads/module/gemm/cublaslt.h"

#include <fmt/format.h>

namespace warpmark::workloads {
namespace {

Result<CublasLt> load() {
  CublasLt lt;
  WM_ASSIGN(lt.library, device::load_library(device::LibraryId::cublaslt));
  const device::Library& library = *lt.library;
  WM_TRY(library.symbol("cublasLtCreate", lt.create));
  WM_TRY(library.symbol("cublasLtDestroy", lt.destroy));
  WM_TRY(library.symbol("cublasLtGetStatusName", lt.status_name));
  WM_TRY(library.symbol("cublasLtMatmul", lt.matmul));
  WM_TRY(library.symbol("cublasLtMatmulDescCreate", lt.description_create));
  WM_TRY(library.symbol("cublasLtMatmulDescDestroy", lt.description_destroy));
  WM_TRY(library.symbol("cublasLtMatmulDescSetAttribute", lt.description_set));
  WM_TRY(library.symbol("cublasLtMatrixLayoutCreate", lt.layout_create));
  WM_TRY(library.symbol("cublasLtMatrixLayoutDestroy", lt.layout_destroy));
  WM_TRY(library.symbol("cublasLtMatrixLayoutSetAttribute", lt.layout_set));
  WM_TRY(library.symbol("cublasLtMatmulPreferenceCreate", lt.preference_create));
  WM_TRY(library.symbol("cublasLtMatmulPreferenceDestroy", lt.preference_destroy));
  WM_TRY(library.symbol("cublasLtMatmulPreferenceSetAttribute", lt.preference_set));
  WM_TRY(library.symbol("cublasLtMatmulAlgoGetHeuristic", lt.heuristic));
  WM_TRY(library.symbol("cublasLtMatmulAlgoConfigGetAttribute", lt.algorithm_get));
  return lt;
}

}  // namespace

Status CublasLt::check(cublasStatus_t status, std::string_view call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const std::string what = fmt::format("{}: {} (cuBLASLt {})", call, status_name(status), library->version());
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) return unsupported_error(what);
  return environment_error(what);
}

Result<const CublasLt*> cublaslt() {
  static const Result<CublasLt> loaded = load();
  if (!loaded.ok()) return loaded.error();
  return &loaded.value();
}

}  // namespace warpmark::workloads
