#include "workloads/module/gemm/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/module/cuda_check.h"
#include "device/cuda/module/cuda_device.h"
#include "workloads/module/gemm/reference_kernels.h"

namespace warpmark::workloads {
namespace {

constexpr double kFullProducts = 2048.0 * 2048.0 * 2048.0;     ///< multiplications of a full reference, at most
constexpr std::int64_t kFullElements = std::int64_t{1} << 25;  ///< and its elements: 256 MiB
constexpr std::int64_t kSampledRows = 64;
constexpr std::uint64_t kProjections = 2;

MatrixView view_of(const DeviceArray& array, std::int64_t rows, std::int64_t columns, bool transposed = false) {
  return {{array.data(), array.type()}, rows, columns, transposed};
}

class MatmulCheck {
 public:
  MatmulCheck(device::Device& device, const MatmulArrays& arrays, const MatmulShape& shape, bool exact)
      : device_(device),
        stream_(device::cuda_stream(device.stream())),
        a_(view_of(arrays.a, shape.m, shape.k)),
        b_(view_of(arrays.b, shape.k, shape.n, arrays.b_transposed)),
        c_(view_of(arrays.c, shape.m, shape.n)),
        exact_(exact) {}

  /// All of the chosen rows, element by element.
  Result<double> rows(const RowChoice& choice) {
    const std::int64_t count = choice.rows * c_.columns;
    WM_ASSIGN(const auto expected, DeviceArray::make(device_, count, ElementType::f64));
    WM_ASSIGN(const auto actual, DeviceArray::make(device_, count, ElementType::f64));
    WM_CUDA(launch_product_rows(stream_, a_, b_, choice, expected.as<double>()));
    WM_CUDA(launch_gather_rows(stream_, c_, choice, actual.as<double>()));
    return compare(actual, expected);
  }

  /// C x against A (B x) for random signs x. Exact for integers: every sum stays below 2^53.
  Result<double> projection(std::uint64_t key) {
    WM_ASSIGN(const auto inner, DeviceArray::make(device_, b_.rows, ElementType::f64));
    WM_ASSIGN(const auto expected, DeviceArray::make(device_, a_.rows, ElementType::f64));
    WM_ASSIGN(const auto actual, DeviceArray::make(device_, a_.rows, ElementType::f64));
    WM_CUDA(launch_matrix_vector(stream_, b_, nullptr, key, inner.as<double>()));
    WM_CUDA(launch_matrix_vector(stream_, a_, inner.as<double>(), 0, expected.as<double>()));
    WM_CUDA(launch_matrix_vector(stream_, c_, nullptr, key, actual.as<double>()));
    return compare(actual, expected);
  }

 private:
  Result<double> compare(const DeviceArray& actual, const DeviceArray& expected) {
    return exact_ ? count_different(device_, actual, expected) : relative_error(device_, actual, expected);
  }

  device::Device& device_;
  cudaStream_t stream_;
  MatrixView a_;
  MatrixView b_;
  MatrixView c_;
  bool exact_;
};

}  // namespace

Result<ErrorCheck> check_matmul(device::Device& device, const MatmulArrays& arrays, const MatmulShape& shape,
                                double tolerance) {
  const bool exact = tolerance == 0;
  MatmulCheck check(device, arrays, shape, exact);
  ErrorCheck result;
  result.tolerance = tolerance;
  const double products = static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  if (products <= kFullProducts && shape.m * shape.n <= kFullElements) {
    WM_ASSIGN(result.value, check.rows({.rows = shape.m, .first = 0, .step = 1}));
    result.norm = exact ? "elements that differ" : "relative Frobenius norm (1e300 stands for NaN)";
    result.reference = "all elements in fp64 on the GPU";
    return result;
  }
  const std::int64_t rows = std::min(kSampledRows, shape.m);
  const std::int64_t step = shape.m / rows;
  // From the last row backwards, evenly spread: the ends of tiles are where products go wrong.
  WM_ASSIGN(result.value, check.rows({.rows = rows, .first = shape.m - 1 - (rows - 1) * step, .step = step}));
  for (std::uint64_t key = 1; key <= kProjections; ++key) {
    WM_ASSIGN(const double error, check.projection(key));
    result.value = exact ? result.value + error : std::max(result.value, error);
  }
  result.norm = exact ? "elements of the sampled rows and projected rows that differ"
                      : "largest relative norm of sampled rows and projections (1e300 stands for NaN)";
  result.reference = fmt::format(
      "{} whole rows in fp64 and {} random projections C x = A (B x) of everything "
      "(Freivalds 1977) in fp64, on the GPU",
      rows, kProjections);
  return result;
}

}  // namespace warpmark::workloads
