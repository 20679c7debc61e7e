#include "workloads/attention/attention_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/float_types.h"
#include "stats/error_norm.h"
#include "stats/random.h"

namespace warpmark::workloads {
namespace {

constexpr std::int64_t kRowWork = std::int64_t{1} << 25;  // products spent on rows

struct View {
  const std::byte* data;
  char type;  ///< 'f' f32, 'b' bf16, 'h' f16
  [[nodiscard]] double operator[](std::int64_t index) const {
    if (type == 'f') return static_cast<double>(reinterpret_cast<const float*>(data)[index]);
    const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(data)[index];
    return static_cast<double>(type == 'b' ? bf16_to_float(bits) : f16_to_float(bits));
  }
};

struct Problem {
  const AttentionShape& shape;
  View q;
  View k;
  View v;
  View o;
};

/// Row `row` of all the heads' rows, in fp64; `scores` is scratch of seq numbers.
void reference_row(const Problem& problem, std::int64_t row, std::vector<double>& scores, std::vector<double>& out) {
  const auto& [batch, heads, seq, dim, causal, dtype] = problem.shape;
  const std::int64_t head = row / seq;
  const std::int64_t keys = causal ? row % seq + 1 : seq;
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < keys; ++j) {
    double dot = 0;
    for (std::int64_t d = 0; d < dim; ++d) dot += problem.q[row * dim + d] * problem.k[(head * seq + j) * dim + d];
    scores[static_cast<std::size_t>(j)] = dot * scale;
    highest = std::max(highest, dot * scale);
  }
  std::fill(out.begin(), out.end(), 0.0);
  double total = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    const double weight = std::exp(scores[static_cast<std::size_t>(j)] - highest);
    total += weight;
    for (std::int64_t d = 0; d < dim; ++d) {
      out[static_cast<std::size_t>(d)] += weight * problem.v[(head * seq + j) * dim + d];
    }
  }
  for (double& value : out) value /= total;
}

double compare_rows(const Problem& problem, const std::vector<std::int64_t>& rows) {
  const std::int64_t dim = problem.shape.dim;
  stats::ErrorNorm total;
#pragma omp parallel
  {
    stats::ErrorNorm mine;
    std::vector<double> scores(static_cast<std::size_t>(problem.shape.seq));
    std::vector<double> reference(static_cast<std::size_t>(dim));
#pragma omp for schedule(dynamic) nowait
    for (std::size_t i = 0; i < rows.size(); ++i) {
      reference_row(problem, rows[i], scores, reference);
      for (std::int64_t d = 0; d < dim; ++d) {
        mine.add(problem.o[rows[i] * dim + d], reference[static_cast<std::size_t>(d)]);
      }
    }
#pragma omp critical(warpmark_attention_check)
    total.merge(mine);
  }
  return total.value();
}

/// Elements of O outside the range of their column of V, widened by `slack` of it; NaN is outside.
std::int64_t count_outside(const Problem& problem, double slack) {
  const auto& shape = problem.shape;
  std::int64_t outside = 0;
#pragma omp parallel for schedule(static) reduction(+ : outside)
  for (std::int64_t head = 0; head < shape.matrices(); ++head) {
    std::vector<double> low(static_cast<std::size_t>(shape.dim), std::numeric_limits<double>::infinity());
    std::vector<double> high(static_cast<std::size_t>(shape.dim), -std::numeric_limits<double>::infinity());
    const std::int64_t first = head * shape.seq * shape.dim;
    for (std::int64_t i = 0; i < shape.seq * shape.dim; ++i) {
      const auto column = static_cast<std::size_t>(i % shape.dim);
      low[column] = std::min(low[column], problem.v[first + i]);
      high[column] = std::max(high[column], problem.v[first + i]);
    }
    for (std::int64_t i = 0; i < shape.seq * shape.dim; ++i) {
      const auto column = static_cast<std::size_t>(i % shape.dim);
      const double margin = slack * std::max(std::fabs(low[column]), std::fabs(high[column]));
      const double value = problem.o[first + i];
      outside += value >= low[column] - margin && value <= high[column] + margin ? 0 : 1;
    }
  }
  return outside;
}

std::vector<std::int64_t> choose_rows(const AttentionShape& shape, std::int64_t count, std::uint64_t seed) {
  const std::int64_t all = shape.matrices() * shape.seq;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto random = static_cast<std::int64_t>(stats::random_bits(seed, i) >> 1);
    rows[i] = count == all ? static_cast<std::int64_t>(i) : random % all;
  }
  if (count < all) {
    rows[0] = 0;
    rows[1] = shape.seq - 1;
    rows[2] = all - shape.seq;
    rows[3] = all - 1;
  }
  return rows;
}

/// f32 accumulates over dim, then over seq, numbers of one sign mostly; the exponential is good to 1e-7. 16-bit types:
/// the result's own rounding, up to 2^-9 (bf16) or 2^-11 (f16), and the rounding of P where an implementation stores
/// it.
double tolerance_of(const std::string& dtype) {
  if (dtype == "f32") return 1e-5;
  return dtype == "bf16" ? 1e-2 : 2e-3;
}

}  // namespace

ErrorCheck check_attention(const AttentionShape& shape, const AttentionTensors& tensors, std::uint64_t seed) {
  const char type = shape.dtype == "f32" ? 'f' : shape.dtype == "bf16" ? 'b' : 'h';
  const Problem problem{
      shape, {tensors.q.data(), type}, {tensors.k.data(), type}, {tensors.v.data(), type}, {tensors.o.data(), type}};
  const std::int64_t all = shape.matrices() * shape.seq;
  const std::int64_t count = std::min(all, std::max<std::int64_t>(16, kRowWork / (2 * shape.seq * shape.dim)));
  const double tolerance = tolerance_of(shape.dtype);
  ErrorCheck check{.value = compare_rows(problem, choose_rows(shape, count, seed)),
                   .tolerance = tolerance,
                   .norm = "relative Frobenius norm (1e300: not finite, or outside the range of V)",
                   .reference = "fp64, all elements"};
  if (count == all) return check;
  if (count_outside(problem, tolerance) > 0) check.value = stats::kFailedError;
  check.reference = fmt::format("fp64: {} of {} rows; all elements within the range of their column of V", count, all);
  return check;
}

}  // namespace warpmark::workloads
