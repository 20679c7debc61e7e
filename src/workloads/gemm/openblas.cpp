// gemm by OpenBLAS: f32 and f64.
#include <fmt/format.h>

#include <limits>

#include "workloads/gemm/gemm_cpu.h"
#include "workloads/openblas.h"

namespace warpmark::workloads {
namespace {

class OpenBlasGemm final : public GemmLibrary {
 public:
  OpenBlasGemm(const OpenBlas& blas, const GemmShape& shape, const SetMemory& memory)
      : blas_(blas),
        m_(static_cast<blasint>(shape.m)),
        n_(static_cast<blasint>(shape.n)),
        k_(static_cast<blasint>(shape.k)),
        double_(shape.dtype == "f64"),
        memory_(memory) {}

  Status multiply(std::size_t set) override {
    if (double_) {
      blas_.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, n_, k_, 1.0, memory_.array<double>(set, kGemmA).data(),
                  k_, memory_.array<double>(set, kGemmB).data(), n_, 0.0, memory_.array<double>(set, kGemmC).data(),
                  n_);
    } else {
      blas_.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, n_, k_, 1.0F, memory_.array<float>(set, kGemmA).data(),
                  k_, memory_.array<float>(set, kGemmB).data(), n_, 0.0F, memory_.array<float>(set, kGemmC).data(), n_);
    }
    return {};
  }

  [[nodiscard]] std::string name() const override { return "openblas"; }
  [[nodiscard]] std::string details() const override {
    return fmt::format("{}, kernels for {}", blas_.config(), blas_.corename());
  }

 private:
  const OpenBlas& blas_;
  blasint m_;
  blasint n_;
  blasint k_;
  bool double_;
  const SetMemory& memory_;
};

}  // namespace

device::Support openblas_supports(const GemmShape& shape) {
  if (shape.dtype != "f32" && shape.dtype != "f64") {
    return device::Support::no("OpenBLAS multiplies f32 and f64, not " + shape.dtype, "use impl=auto or dtype=f32");
  }
  constexpr std::int64_t kMost = std::numeric_limits<blasint>::max();
  if (shape.m > kMost || shape.n > kMost || shape.k > kMost) {
    return device::Support::no(fmt::format("OpenBLAS is built with 32-bit sizes: m={} n={} k={} must be at most {}",
                                           shape.m, shape.n, shape.k, kMost),
                               "choose a smaller shape with --set");
  }
  return device::Support::yes();
}

Result<std::unique_ptr<GemmLibrary>> make_openblas_gemm(const GemmShape& shape, const SetMemory& memory) {
  WM_ASSIGN(const OpenBlas* blas, openblas());
  return std::unique_ptr<GemmLibrary>(std::make_unique<OpenBlasGemm>(*blas, shape, memory));
}

}  // namespace warpmark::workloads
