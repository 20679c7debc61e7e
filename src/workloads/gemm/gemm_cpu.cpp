// gemm on the CPU: makes the matrices and picks the library.
#include "workloads/gemm/gemm_cpu.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "base/float_types.h"
#include "stats/error_norm.h"
#include "stats/random.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

using device::Support;
using Notes = std::vector<std::pair<std::string, std::string>>;

GemmShape shape_of(const Params& params) {
  return {params.integer("m"), params.integer("n"), params.integer("k"), params.text("dtype")};
}

class GemmOnCpu final : public measure::Prepared {
 public:
  GemmOnCpu(GemmShape shape, std::uint64_t seed, SetMemory memory)
      : shape_(std::move(shape)), seed_(seed), memory_(std::move(memory)) {}

  /// Makes the library that `impl` names; "auto" times those that support the shape and keeps the fastest.
  Status choose(const std::string& impl);

  Status launch(device::Stream /*stream*/, std::size_t set) override { return library_->multiply(set); }

  Status poison() override {
    memory_.poison(kGemmC);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const GemmArrays arrays{memory_.bytes(set, kGemmA), memory_.bytes(set, kGemmB), memory_.bytes(set, kGemmC)};
    return check_gemm(shape_, arrays, array_seed(seed_, set, 3));
  }

  [[nodiscard]] Notes notes() const override { return notes_; }

 private:
  GemmShape shape_;
  std::uint64_t seed_;
  SetMemory memory_;
  std::unique_ptr<GemmLibrary> library_;  ///< refers to memory_
  Notes notes_;
};

/// Seconds of the fastest of a few products, after one that is not counted.
Result<double> trial_seconds(GemmLibrary& library) {
  constexpr int kTrials = 3;
  constexpr std::int64_t kLongEnoughNs = 20'000'000;
  WM_TRY(library.multiply(0));
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  const std::int64_t begin = monotonic_ns();
  for (int i = 0; i < kTrials || monotonic_ns() - begin < kLongEnoughNs; ++i) {
    const std::int64_t start = monotonic_ns();
    WM_TRY(library.multiply(0));
    best = std::min(best, monotonic_ns() - start);
  }
  return static_cast<double>(best) * 1e-9;
}

Status GemmOnCpu::choose(const std::string& impl) {
  std::vector<std::unique_ptr<GemmLibrary>> candidates;
  if (impl != "onednn" && openblas_supports(shape_).available) {
    WM_ASSIGN(auto library, make_openblas_gemm(shape_, memory_));
    candidates.push_back(std::move(library));
  }
  if (impl != "openblas" && onednn_supports(shape_).available) {
    WM_ASSIGN(auto library, make_onednn_gemm(shape_, memory_));
    candidates.push_back(std::move(library));
  }
  WM_CHECK(!candidates.empty());  // supports() said yes
  std::size_t chosen = 0;
  if (candidates.size() > 1) {
    std::string tried;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      WM_ASSIGN(const double seconds, trial_seconds(*candidates[i]));
      tried += fmt::format("{}{} {:.3g} s", tried.empty() ? "" : ", ", candidates[i]->name(), seconds);
      if (seconds < best) {
        best = seconds;
        chosen = i;
      }
    }
    notes_.emplace_back("tried", tried);
  }
  library_ = std::move(candidates[chosen]);
  notes_.emplace_back("library", library_->name());
  notes_.emplace_back("algorithm", library_->details());
  notes_.emplace_back("threads", std::to_string(omp_get_max_threads()));
  return {};
}

void fill_inputs(const GemmShape& shape, const SetMemory& memory, std::uint64_t seed) {
  for (std::size_t set = 0; set < memory.sets(); ++set) {
    for (const std::size_t array : {kGemmA, kGemmB}) {
      const std::uint64_t array_s = array_seed(seed, set, array);
      if (shape.dtype == "f64") fill_random(memory.array<double>(set, array), array_s);
      if (shape.dtype == "f32") fill_random(memory.array<float>(set, array), array_s);
      if (shape.dtype == "bf16") fill_random_bf16(memory.array<std::uint16_t>(set, array), array_s);
      if (shape.dtype == "int8") fill_random(memory.array<std::int8_t>(set, array), array_s);
    }
  }
}

constexpr std::size_t kCheckVectors = 8;
constexpr std::size_t kRows = 8;
constexpr std::int64_t kWholeProduct = std::int64_t{1} << 24;

using Projections = std::vector<std::array<double, kCheckVectors>>;  ///< one entry a row

template <typename T>
double to_double(T value) {
  return static_cast<double>(value);
}
double bf16_to_double(std::uint16_t bits) { return static_cast<double>(bf16_to_float(bits)); }

/// Reads rows of a row-major matrix as doubles.
struct Matrix {
  std::span<const std::byte> bytes;
  std::size_t rows;
  std::size_t columns;
  std::string type;  ///< "f64", "f32", "bf16", "int8", "int32"

  void row(std::size_t index, std::span<double> to) const {
    if (type == "f64") return convert<double>(index, to, to_double<double>);
    if (type == "f32") return convert<float>(index, to, to_double<float>);
    if (type == "bf16") return convert<std::uint16_t>(index, to, bf16_to_double);
    if (type == "int8") return convert<std::int8_t>(index, to, to_double<std::int8_t>);
    WM_CHECK(type == "int32");
    convert<std::int32_t>(index, to, to_double<std::int32_t>);
  }

 private:
  template <typename T>
  void convert(std::size_t index, std::span<double> to, double (*value_of)(T)) const {
    const T* from = reinterpret_cast<const T*>(bytes.data()) + index * columns;
    for (std::size_t i = 0; i < columns; ++i) to[i] = value_of(from[i]);
  }
};

std::string output_type(const std::string& dtype) { return dtype == "int8" ? "int32" : dtype; }

/// matrix * vectors, where `vectors` has a row for each of the matrix' columns.
Projections project(const Matrix& matrix, const Projections& vectors) {
  Projections result(matrix.rows);
#pragma omp parallel
  {
    std::vector<double> row(matrix.columns);
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < matrix.rows; ++i) {
      matrix.row(i, row);
      std::array<double, kCheckVectors> sums{};
      for (std::size_t j = 0; j < row.size(); ++j) {
        for (std::size_t v = 0; v < kCheckVectors; ++v) sums[v] += row[j] * vectors[j][v];
      }
      result[i] = sums;
    }
  }
  return result;
}

Projections random_signs(std::size_t rows, std::uint64_t seed) {
  Projections signs(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t bits = stats::random_bits(seed, i);
    for (std::size_t v = 0; v < kCheckVectors; ++v) signs[i][v] = ((bits >> v) & 1U) != 0 ? 1.0 : -1.0;
  }
  return signs;
}

struct Difference {
  stats::ErrorNorm norm;
  double different = 0;  ///< values that are not equal
  void add(double out, double reference) {
    norm.add(out, reference);
    if (!(out == reference)) ++different;
  }
};

Difference compare_projections(const Matrix& a, const Matrix& b, const Matrix& c, std::uint64_t seed) {
  const Projections x = random_signs(b.columns, seed);
  const Projections reference = project(a, project(b, x));
  const Projections out = project(c, x);
  Difference difference;
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t v = 0; v < kCheckVectors; ++v) difference.add(out[i][v], reference[i][v]);
  }
  return difference;
}

Difference compare_rows(const Matrix& a, const Matrix& b, const Matrix& c, std::span<const std::size_t> rows) {
  Difference total;
#pragma omp parallel
  {
    Difference mine;
    std::vector<double> left(a.columns);
    std::vector<double> right(b.columns);
    std::vector<double> out(b.columns);
    std::vector<double> reference(b.columns);
#pragma omp for schedule(static) nowait
    for (std::size_t i = 0; i < rows.size(); ++i) {
      a.row(rows[i], left);
      std::fill(reference.begin(), reference.end(), 0.0);
      for (std::size_t k = 0; k < left.size(); ++k) {
        b.row(k, right);
        for (std::size_t j = 0; j < right.size(); ++j) reference[j] += left[k] * right[j];
      }
      c.row(rows[i], out);
      for (std::size_t j = 0; j < out.size(); ++j) mine.add(out[j], reference[j]);
    }
#pragma omp critical(warpmark_gemm_check)
    {
      total.norm.merge(mine.norm);
      total.different += mine.different;
    }
  }
  return total;
}

/// f32: a sum of k products rounds about sqrt(k) times, each 2^-24. bf16: the output's own rounding, up to 2^-9.
double tolerance_of(const std::string& dtype) {
  if (dtype == "int8") return 0;
  if (dtype == "f64") return 1e-13;
  return dtype == "f32" ? 1e-5 : 4e-3;
}

}  // namespace

Support gemm_supports_cpu(const DeviceInfo& /*device*/, const Params& params) {
  const GemmShape shape = shape_of(params);
  const std::string& impl = params.text("impl");
  if (impl == "openblas") return openblas_supports(shape);
  if (impl == "onednn") return onednn_supports(shape);
  if (impl == "cublaslt") return Support::no("cuBLASLt runs on NVIDIA GPUs", "use impl=auto, openblas or onednn");
  if (openblas_supports(shape).available) return Support::yes();
  return onednn_supports(shape);
}

Result<std::unique_ptr<measure::Prepared>> gemm_prepare_cpu(const measure::PrepareOptions& options) {
  const GemmShape shape = shape_of(options.params);
  const auto bytes_of = [](std::int64_t rows, std::int64_t columns, std::int64_t element) {
    return static_cast<std::size_t>(rows * columns * element);
  };
  const std::int64_t input = element_bytes(shape.dtype);
  const std::array sizes{bytes_of(shape.m, shape.k, input), bytes_of(shape.k, shape.n, input),
                         bytes_of(shape.m, shape.n, gemm_output_bytes(shape.dtype))};
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, sizes));
  fill_inputs(shape, memory, options.seed);
  memory.poison(kGemmC);
  auto prepared = std::make_unique<GemmOnCpu>(shape, options.seed, std::move(memory));
  WM_TRY(prepared->choose(options.params.text("impl")));
  return std::unique_ptr<measure::Prepared>(std::move(prepared));
}

ErrorCheck check_gemm(const GemmShape& shape, const GemmArrays& arrays, std::uint64_t seed) {
  const auto m = static_cast<std::size_t>(shape.m);
  const auto n = static_cast<std::size_t>(shape.n);
  const auto k = static_cast<std::size_t>(shape.k);
  const Matrix a{arrays.a, m, k, shape.dtype};
  const Matrix b{arrays.b, k, n, shape.dtype};
  const Matrix c{arrays.c, m, n, output_type(shape.dtype)};
  const bool exact = shape.dtype == "int8";
  const bool whole =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) <= static_cast<double>(kWholeProduct);

  std::vector<std::size_t> rows(whole ? m : std::min(m, kRows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = whole ? i : stats::random_bits(stats::derive_seed(seed, 1), i) % m;
  }
  const Difference by_row = compare_rows(a, b, c, rows);
  ErrorCheck check{.value = exact ? by_row.different : by_row.norm.value(),
                   .tolerance = tolerance_of(shape.dtype),
                   .norm = exact ? "elements that differ" : "relative Frobenius norm (1e300: not finite)",
                   .reference = "fp64, all elements"};
  if (whole) return check;

  const Difference projected = compare_projections(a, b, c, stats::derive_seed(seed, 0));
  check.value = std::max(check.value, exact ? projected.different : projected.norm.value());
  if (exact) check.norm = "elements that differ, in the projections or in the rows";
  check.reference =
      fmt::format("fp64: all elements in {} random +-1 projections, and {} whole rows", kCheckVectors, kRows);
  return check;
}

}  // namespace warpmark::workloads
