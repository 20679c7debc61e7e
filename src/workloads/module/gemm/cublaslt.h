// cuBLASLt, loaded at run time: its functions, its errors as Errors, and owners for its handles.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string_view>

#include "base/result.h"
#include "device/cuda/module/library_loader.h"

namespace warpmark::workloads {

struct CublasLt {
  const device::Library* library = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetStatusName) status_name = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) description_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) description_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) description_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_get = nullptr;

  /// Success, or an error naming the call and the status; "not supported" is an unsupported error.
  [[nodiscard]] Status check(cublasStatus_t status, std::string_view call) const;
};

/// Loads the library once. Environment error saying where it was looked for.
[[nodiscard]] Result<const CublasLt*> cublaslt();

/// Owners: destroyed by the library's own function, which outlives them as libraries stay loaded.
template <typename Handle>
using CublasLtOwner = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

}  // namespace warpmark::workloads
