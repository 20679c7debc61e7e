#include "workloads/module/gemm/cublaslt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "device/cuda/module/cuda_device.h"

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

// The library's documentation advises 32 MiB on Hopper; more lets it offer larger splits of k.
constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

// Tolerances of the relative Frobenius norm. f64, f32: rounding of k sequential additions grows as sqrt(k), about
// 0.3 eps sqrt(k/2). tf32 rounds or cuts each input to 10 bits of mantissa. f16, bf16: one rounding of the output by at
// most 2^-11 and 2^-8 of it; measured on an H100: 2.1e-4 and 1.7e-3. fp8 is checked against the quantized inputs; its
// fast accumulation keeps about 14 bits of each partial sum, and the output is bf16; measured for k = 8192: 2.5e-3.
// Integers are exact.
constexpr std::array<MatmulType, 7> kTypes{{
    {"f64", ElementType::f64, ElementType::f64, CUBLAS_COMPUTE_64F, CUDA_R_64F, false, 1, 1e-13},
    {"f32", ElementType::f32, ElementType::f32, CUBLAS_COMPUTE_32F, CUDA_R_32F, false, 1, 1e-5},
    {"tf32", ElementType::f32, ElementType::f32, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, false, 1, 1e-3},
    {"f16", ElementType::f16, ElementType::f16, CUBLAS_COMPUTE_32F, CUDA_R_32F, false, 1, 1e-3},
    {"bf16", ElementType::bf16, ElementType::bf16, CUBLAS_COMPUTE_32F, CUDA_R_32F, false, 1, 4e-3},
    {"fp8", ElementType::fp8, ElementType::bf16, CUBLAS_COMPUTE_32F, CUDA_R_32F, true, 16, 1e-2},
    {"int8", ElementType::int8, ElementType::int32, CUBLAS_COMPUTE_32I, CUDA_R_32I, true, 4, 0},
}};

cudaDataType_t library_type(ElementType type) {
  switch (type) {
    case ElementType::f64: return CUDA_R_64F;
    case ElementType::f32: return CUDA_R_32F;
    case ElementType::f16: return CUDA_R_16F;
    case ElementType::bf16: return CUDA_R_16BF;
    case ElementType::fp8: return CUDA_R_8F_E4M3;
    case ElementType::int8: return CUDA_R_8I;
    case ElementType::int32: return CUDA_R_32I;
  }
  return CUDA_R_32F;
}

struct LayoutShape {
  std::int64_t rows;  ///< column-major
  std::int64_t columns;
};

Status make_layout(const CublasLt& library, CublasLtOwner<cublasLtMatrixLayout_t>& layout, ElementType type,
                   const LayoutShape& shape) {
  cublasLtMatrixLayout_t made = nullptr;
  WM_TRY(library.check(library.layout_create(&made, library_type(type), static_cast<std::uint64_t>(shape.rows),
                                             static_cast<std::uint64_t>(shape.columns), shape.rows),
                       "cublasLtMatrixLayoutCreate"));
  layout.reset(made);
  return {};
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

const MatmulType* matmul_type(const std::string& dtype) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const MatmulType& type) { return type.dtype == dtype; });
  return found == kTypes.end() ? nullptr : &*found;
}

Matmul::Matmul(const CublasLt& library)
    : library_(&library),
      handle_(nullptr, library.destroy),
      description_(nullptr, library.description_destroy),
      first_(nullptr, library.layout_destroy),
      second_(nullptr, library.layout_destroy),
      result_(nullptr, library.layout_destroy) {}

Result<Matmul> Matmul::make(device::Device& device, const MatmulType& type, const MatmulShape& shape,
                            std::size_t candidates) {
  WM_ASSIGN(const CublasLt* library, cublaslt());
  Matmul matmul(*library);
  cublasLtHandle_t handle = nullptr;
  WM_TRY(library->check(library->create(&handle), "cublasLtCreate"));
  matmul.handle_.reset(handle);
  WM_TRY(matmul.create_description(device, type));
  WM_TRY(matmul.create_layouts(type, shape));
  WM_TRY(matmul.create_workspace(device));
  WM_TRY(matmul.ask_heuristic(candidates));
  return matmul;
}

Status Matmul::create_description(device::Device& device, const MatmulType& type) {
  scale_type_ = type.scale;
  cublasLtMatmulDesc_t description = nullptr;
  WM_TRY(library_->check(library_->description_create(&description, type.compute, type.scale),
                         "cublasLtMatmulDescCreate"));
  description_.reset(description);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t bytes) {
    return library_->check(library_->description_set(description, attribute, value, bytes),
                           "cublasLtMatmulDescSetAttribute");
  };
  const cublasOperation_t first = type.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  WM_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
  if (type.input != ElementType::fp8) return {};

  WM_ASSIGN(ones_, device.allocate(sizeof(float)));
  const float one = 1;
  WM_TRY(device.write(*ones_, 0, std::as_bytes(std::span(&one, 1))));
  const void* scale = ones_->data();
  WM_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale, sizeof scale));
  WM_TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &scale, sizeof scale));
  const std::int8_t fast = 1;
  return set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
}

Status Matmul::create_layouts(const MatmulType& type, const MatmulShape& shape) {
  const LayoutShape first = type.b_transposed ? LayoutShape{shape.k, shape.n} : LayoutShape{shape.n, shape.k};
  WM_TRY(make_layout(*library_, first_, type.input, first));
  WM_TRY(make_layout(*library_, second_, type.input, {shape.k, shape.m}));
  return make_layout(*library_, result_, type.output, {shape.n, shape.m});
}

Status Matmul::create_workspace(device::Device& device) {
  WM_ASSIGN(workspace_, device.allocate(kWorkspaceBytes));
  return {};
}

Status Matmul::ask_heuristic(std::size_t candidates) {
  cublasLtMatmulPreference_t made = nullptr;
  WM_TRY(library_->check(library_->preference_create(&made), "cublasLtMatmulPreferenceCreate"));
  const CublasLtOwner<cublasLtMatmulPreference_t> preference(made, library_->preference_destroy);
  const std::size_t workspace = kWorkspaceBytes;
  WM_TRY(library_->check(
      library_->preference_set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace),
      "cublasLtMatmulPreferenceSetAttribute"));
  algorithms_.resize(std::max<std::size_t>(1, candidates));
  int found = 0;
  const cublasStatus_t status =
      library_->heuristic(handle_.get(), description_.get(), first_.get(), second_.get(), result_.get(), result_.get(),
                          made, static_cast<int>(algorithms_.size()), algorithms_.data(), &found);
  WM_TRY(library_->check(status, "cublasLtMatmulAlgoGetHeuristic"));
  algorithms_.resize(static_cast<std::size_t>(std::max(0, found)));
  std::erase_if(algorithms_, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (algorithms_.empty()) return unsupported_error("cuBLASLt offers no algorithm for this shape and type");
  return {};
}

Status Matmul::enqueue(device::Stream stream, const MatmulOperands& operands, std::size_t candidate) const {
  // The scalars have the type that the description names; zero has the same bits in all of them.
  static constexpr std::uint64_t kZero = 0;
  static constexpr std::uint64_t kOneDouble = std::bit_cast<std::uint64_t>(1.0);
  static constexpr std::uint32_t kOneFloat = std::bit_cast<std::uint32_t>(1.0F);
  static constexpr std::int32_t kOneInteger = 1;
  const void* one = scale_type_ == CUDA_R_64F   ? static_cast<const void*>(&kOneDouble)
                    : scale_type_ == CUDA_R_32I ? static_cast<const void*>(&kOneInteger)
                                                : static_cast<const void*>(&kOneFloat);
  return library_->check(
      library_->matmul(handle_.get(), description_.get(), one, operands.b, first_.get(), operands.a, second_.get(),
                       &kZero, operands.c, result_.get(), operands.c, result_.get(), &algorithms_[candidate].algo,
                       workspace_->data(), kWorkspaceBytes, device::cuda_stream(stream)),
      "cublasLtMatmul");
}

std::uint32_t Matmul::configuration(std::size_t candidate, cublasLtMatmulAlgoConfigAttributes_t attribute) const {
  // Attributes are 2 or 4 bytes wide; the library says how many it wrote.
  std::array<unsigned char, 8> bytes{};
  std::size_t written = 0;
  if (library_->algorithm_get(&algorithms_[candidate].algo, attribute, bytes.data(), 4, &written) !=
      CUBLAS_STATUS_SUCCESS) {
    written = 0;
    if (library_->algorithm_get(&algorithms_[candidate].algo, attribute, bytes.data(), 2, &written) !=
        CUBLAS_STATUS_SUCCESS) {
      return 0;
    }
  }
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
         static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

std::string Matmul::describe(std::size_t candidate) const {
  return fmt::format(
      "cublasLt algo {} tile {} stages {} splitk {} cluster {} swizzle {} workspace {}",
      configuration(candidate, CUBLASLT_ALGO_CONFIG_ID), configuration(candidate, CUBLASLT_ALGO_CONFIG_TILE_ID),
      configuration(candidate, CUBLASLT_ALGO_CONFIG_STAGES_ID),
      static_cast<std::int32_t>(configuration(candidate, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)),
      configuration(candidate, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID),
      configuration(candidate, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING), algorithms_[candidate].workspaceSize);
}

}  // namespace warpmark::workloads
