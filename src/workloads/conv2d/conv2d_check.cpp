#include "workloads/conv2d/conv2d_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "base/float_types.h"
#include "stats/error_norm.h"
#include "stats/random.h"

namespace warpmark::workloads {
namespace {

using stats::ErrorNorm;
constexpr std::int64_t kElementWork = std::int64_t{1} << 23;  // products spent on elements one by one
constexpr std::int64_t kWholeWork = std::int64_t{1} << 26;    // products spent on whole images or channels

/// A tensor of four axes: [image, channel, row, column] or [output channel, input channel, row, column].
struct ConvView {
  const std::byte* data;
  bool bf16;
  std::array<std::int64_t, 4> size;
  std::array<std::int64_t, 4> stride;

  [[nodiscard]] double at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    return flat(a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]);
  }
  [[nodiscard]] double flat(std::int64_t index) const {
    if (bf16) return static_cast<double>(bf16_to_float(reinterpret_cast<const std::uint16_t*>(data)[index]));
    return static_cast<double>(reinterpret_cast<const float*>(data)[index]);
  }
  [[nodiscard]] std::int64_t elements() const { return size[0] * size[1] * size[2] * size[3]; }
};

struct ConvProblem {
  const ConvShape& shape;
  ConvView x;
  ConvView w;
  ConvView y;
  [[nodiscard]] const ConvView& result() const {
    if (shape.pass == ConvPass::forward) return y;
    return shape.pass == ConvPass::backward_data ? x : w;
  }
};

ConvView view_of(const ConvShape& shape, std::span<const std::byte> bytes, std::array<std::int64_t, 4> size) {
  const auto [a, b, c, d] = size;
  const std::array<std::int64_t, 4> stride = shape.channels_last ? std::array{b * c * d, std::int64_t{1}, d * b, b}
                                                                 : std::array{b * c * d, c * d, d, std::int64_t{1}};
  return {bytes.data(), shape.dtype == "bf16", size, stride};
}

/// Products summed up in one element of the result.
std::int64_t terms_of(const ConvShape& s) {
  if (s.pass == ConvPass::forward) return s.c * s.r * s.r;
  return s.pass == ConvPass::backward_data ? s.k * s.r * s.r : s.n * s.p * s.q;
}

double forward_element(const ConvProblem& problem, const std::array<std::int64_t, 4>& at) {
  const auto& s = problem.shape;
  double sum = 0;
  for (std::int64_t c = 0; c < s.c; ++c) {
    for (std::int64_t i = 0; i < s.r; ++i) {
      for (std::int64_t j = 0; j < s.r; ++j) {
        const std::int64_t row = at[2] * s.stride + i - s.pad;
        const std::int64_t column = at[3] * s.stride + j - s.pad;
        if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
        sum += problem.x.at(at[0], c, row, column) * problem.w.at(at[1], c, i, j);
      }
    }
  }
  return sum;
}

double backward_data_element(const ConvProblem& problem, const std::array<std::int64_t, 4>& at) {
  const auto& s = problem.shape;
  double sum = 0;
  for (std::int64_t i = 0; i < s.r; ++i) {
    for (std::int64_t j = 0; j < s.r; ++j) {
      const std::int64_t row = at[2] + s.pad - i;  // stride * p
      const std::int64_t column = at[3] + s.pad - j;
      if (row < 0 || column < 0 || row % s.stride != 0 || column % s.stride != 0) continue;
      if (row / s.stride >= s.p || column / s.stride >= s.q) continue;
      for (std::int64_t k = 0; k < s.k; ++k) {
        sum += problem.y.at(at[0], k, row / s.stride, column / s.stride) * problem.w.at(k, at[1], i, j);
      }
    }
  }
  return sum;
}

double backward_weights_element(const ConvProblem& problem, const std::array<std::int64_t, 4>& at) {
  const auto& s = problem.shape;
  double sum = 0;
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t p = 0; p < s.p; ++p) {
      const std::int64_t row = p * s.stride + at[2] - s.pad;
      if (row < 0 || row >= s.h) continue;
      for (std::int64_t q = 0; q < s.q; ++q) {
        const std::int64_t column = q * s.stride + at[3] - s.pad;
        if (column < 0 || column >= s.w) continue;
        sum += problem.y.at(n, at[0], p, q) * problem.x.at(n, at[1], row, column);
      }
    }
  }
  return sum;
}

double reference_element(const ConvProblem& problem, const std::array<std::int64_t, 4>& at) {
  if (problem.shape.pass == ConvPass::forward) return forward_element(problem, at);
  if (problem.shape.pass == ConvPass::backward_data) return backward_data_element(problem, at);
  return backward_weights_element(problem, at);
}

/// Random elements, or all of them in order if there are no more than `count`.
ErrorNorm compare_elements(const ConvProblem& problem, std::int64_t count, std::uint64_t seed) {
  const ConvView& result = problem.result();
  const std::int64_t all = result.elements();
  ErrorNorm total;
#pragma omp parallel
  {
    ErrorNorm mine;
#pragma omp for schedule(dynamic, 16) nowait
    for (std::int64_t i = 0; i < count; ++i) {
      const auto random = static_cast<std::int64_t>(stats::random_bits(seed, static_cast<std::uint64_t>(i)) >> 1);
      std::int64_t rest = count == all ? i : random % all;
      std::array<std::int64_t, 4> at{};
      for (std::size_t axis = 4; axis-- > 0;) {
        at[axis] = rest % result.size[axis];
        rest /= result.size[axis];
      }
      mine.add(result.at(at[0], at[1], at[2], at[3]), reference_element(problem, at));
    }
#pragma omp critical(warpmark_conv2d_check)
    total.merge(mine);
  }
  return total;
}

using Plane = std::vector<double>;

/// One channel of one image with its padding; `padded_width` columns a row.
void load_plane(const ConvProblem& problem, std::int64_t image, std::int64_t channel, Plane& plane) {
  const auto& s = problem.shape;
  const std::int64_t width = s.w + 2 * s.pad;
  plane.assign(static_cast<std::size_t>((s.h + 2 * s.pad) * width), 0.0);
  for (std::int64_t row = 0; row < s.h; ++row) {
    double* to = plane.data() + (row + s.pad) * width + s.pad;
    for (std::int64_t column = 0; column < s.w; ++column) to[column] = problem.x.at(image, channel, row, column);
  }
}

double sign_of(std::uint64_t seed, std::int64_t channel) {
  return (stats::random_bits(seed, static_cast<std::uint64_t>(channel)) & 1U) != 0 ? 1.0 : -1.0;
}

/// Sum over `axis` (0 or 1) of a tensor with random signs, as [other axis][row][column].
Plane signed_sum(const ConvView& view, std::size_t axis, std::int64_t other, std::uint64_t seed) {
  Plane sum(static_cast<std::size_t>(view.size[2] * view.size[3]), 0.0);
  for (std::int64_t channel = 0; channel < view.size[axis]; ++channel) {
    const double sign = sign_of(seed, channel);
    double* to = sum.data();
    for (std::int64_t row = 0; row < view.size[2]; ++row) {
      for (std::int64_t column = 0; column < view.size[3]; ++column, ++to) {
        *to += sign * (axis == 0 ? view.at(channel, other, row, column) : view.at(other, channel, row, column));
      }
    }
  }
  return sum;
}

/// signed_sum of every `other`.
std::vector<Plane> signed_sums(const ConvView& view, std::size_t axis, std::uint64_t seed) {
  std::vector<Plane> sums(static_cast<std::size_t>(view.size[1 - axis]));
#pragma omp parallel for schedule(static)
  for (std::size_t other = 0; other < sums.size(); ++other) {
    sums[other] = signed_sum(view, axis, static_cast<std::int64_t>(other), seed);
  }
  return sums;
}

/// What the output plane and the padded input plane have to do with one another: calls visit(weight index, output row,
/// first padded input element) for each kernel element and output row.
template <typename Visit>
void for_kernel_rows(const ConvShape& s, Visit visit) {
  const std::int64_t width = s.w + 2 * s.pad;
  for (std::int64_t i = 0; i < s.r; ++i) {
    for (std::int64_t j = 0; j < s.r; ++j) {
      for (std::int64_t p = 0; p < s.p; ++p) visit(i * s.r + j, p * s.q, (p * s.stride + i) * width + j);
    }
  }
}

void add_planes(ErrorNorm& norm, const Plane& out, const Plane& reference) {
  for (std::size_t i = 0; i < out.size(); ++i) norm.add(out[i], reference[i]);
}

/// The reference of signed_sum(result) for one image, or one input channel in backward_weights. `summed` are the signed
/// sums of the factor that carries the result's channels.
Plane reference_sum(const ConvProblem& problem, const std::vector<Plane>& summed, std::int64_t unit) {
  const auto& s = problem.shape;
  Plane plane;
  if (s.pass == ConvPass::forward) {
    Plane sum(static_cast<std::size_t>(s.p * s.q), 0.0);
    for (std::int64_t c = 0; c < s.c; ++c) {
      load_plane(problem, unit, c, plane);
      for_kernel_rows(s, [&](std::int64_t weight, std::int64_t out, std::int64_t in) {
        const double factor = summed[static_cast<std::size_t>(c)][static_cast<std::size_t>(weight)];
        double* to = sum.data() + out;
        const double* from = plane.data() + in;
        for (std::int64_t q = 0; q < s.q; ++q) to[q] += factor * from[q * s.stride];
      });
    }
    return sum;
  }
  if (s.pass == ConvPass::backward_weights) {
    Plane sum(static_cast<std::size_t>(s.r * s.r), 0.0);
    for (std::int64_t n = 0; n < s.n; ++n) {
      load_plane(problem, n, unit, plane);
      for_kernel_rows(s, [&](std::int64_t weight, std::int64_t out, std::int64_t in) {
        const double* y = summed[static_cast<std::size_t>(n)].data() + out;
        const double* x = plane.data() + in;
        double dot = 0;
        for (std::int64_t q = 0; q < s.q; ++q) dot += y[q] * x[q * s.stride];
        sum[static_cast<std::size_t>(weight)] += dot;
      });
    }
    return sum;
  }
  const std::int64_t width = s.w + 2 * s.pad;
  Plane padded(static_cast<std::size_t>((s.h + 2 * s.pad) * width), 0.0);
  Plane y(static_cast<std::size_t>(s.p * s.q));
  for (std::int64_t k = 0; k < s.k; ++k) {
    for (std::int64_t i = 0; i < s.p * s.q; ++i)
      y[static_cast<std::size_t>(i)] = problem.y.at(unit, k, i / s.q, i % s.q);
    for_kernel_rows(s, [&](std::int64_t weight, std::int64_t out, std::int64_t in) {
      const double factor = summed[static_cast<std::size_t>(k)][static_cast<std::size_t>(weight)];
      for (std::int64_t q = 0; q < s.q; ++q) {
        padded[static_cast<std::size_t>(in + q * s.stride)] += factor * y[static_cast<std::size_t>(out + q)];
      }
    });
  }
  Plane sum;
  for (std::int64_t row = 0; row < s.h; ++row) {
    const auto begin = padded.begin() + (row + s.pad) * width + s.pad;
    sum.insert(sum.end(), begin, begin + s.w);
  }
  return sum;
}

/// Images, or input channels for backward_weights: what a reference_sum is of.
std::int64_t units_of(const ConvShape& s) { return s.pass == ConvPass::backward_weights ? s.c : s.n; }

std::vector<std::int64_t> choose_units(const ConvShape& s, std::uint64_t seed) {
  const std::int64_t all = units_of(s);
  const std::int64_t work = s.pass == ConvPass::backward_weights ? s.n * s.p * s.q * s.r * s.r
                            : s.pass == ConvPass::forward        ? s.c * s.p * s.q * s.r * s.r
                                                                 : s.k * s.p * s.q * s.r * s.r;
  std::vector<std::int64_t> units(static_cast<std::size_t>(all));
  std::iota(units.begin(), units.end(), std::int64_t{0});
  std::shuffle(units.begin(), units.end(), stats::Random(seed));
  units.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(kWholeWork / work, 1, all)));
  return units;
}

ErrorNorm compare_sums(const ConvProblem& problem, const std::vector<std::int64_t>& units, std::uint64_t seed) {
  const auto pass = problem.shape.pass;
  // The axis of the result's channels in the result, and in the factor that has it.
  const std::size_t result_axis = pass == ConvPass::backward_weights ? 0 : 1;
  const std::vector<Plane> summed = pass == ConvPass::forward         ? signed_sums(problem.w, 0, seed)
                                    : pass == ConvPass::backward_data ? signed_sums(problem.w, 1, seed)
                                                                      : signed_sums(problem.y, 1, seed);
  ErrorNorm total;
#pragma omp parallel
  {
    ErrorNorm mine;
#pragma omp for schedule(dynamic) nowait
    for (std::size_t i = 0; i < units.size(); ++i) {
      const Plane out = signed_sum(problem.result(), result_axis, units[i], seed);
      add_planes(mine, out, reference_sum(problem, summed, units[i]));
    }
#pragma omp critical(warpmark_conv2d_check)
    total.merge(mine);
  }
  return total;
}

bool all_finite(const ConvView& view) {
  std::int64_t bad = 0;
  const std::int64_t all = view.elements();
#pragma omp parallel for schedule(static) reduction(+ : bad)
  for (std::int64_t i = 0; i < all; ++i) bad += std::isfinite(view.flat(i)) ? 0 : 1;
  return bad == 0;
}

/// f32 sums of a few thousand products; backward_weights sums some 100 000. bf16: the result's own rounding, up to
/// 2^-9.
double tolerance_of(const ConvShape& shape) {
  if (shape.dtype == "bf16") return 4e-3;
  return shape.pass == ConvPass::backward_weights ? 1e-4 : 1e-5;
}

}  // namespace

ErrorCheck check_conv2d(const ConvShape& shape, const ConvTensors& tensors, std::uint64_t seed) {
  const ConvProblem problem{shape, view_of(shape, tensors.input, {shape.n, shape.c, shape.h, shape.w}),
                            view_of(shape, tensors.weights, {shape.k, shape.c, shape.r, shape.r}),
                            view_of(shape, tensors.output, {shape.n, shape.k, shape.p, shape.q})};
  const std::int64_t all = problem.result().elements();
  const std::int64_t count = std::min(all, std::max<std::int64_t>(64, kElementWork / terms_of(shape)));
  ErrorCheck check{.value = compare_elements(problem, count, stats::derive_seed(seed, 0)).value(),
                   .tolerance = tolerance_of(shape),
                   .norm = "relative Frobenius norm (1e300: not finite)",
                   .reference = "fp64, all elements"};
  if (count == all) return check;

  const std::vector<std::int64_t> units = choose_units(shape, stats::derive_seed(seed, 1));
  const double sums = compare_sums(problem, units, stats::derive_seed(seed, 2)).value();
  check.value = all_finite(problem.result()) ? std::max(check.value, sums) : stats::kFailedError;
  check.reference = fmt::format("fp64: {} random elements; all elements of {} of {} {} in one random +-1 projection",
                                count, units.size(), units_of(shape),
                                shape.pass == ConvPass::backward_weights ? "input channels" : "images");
  return check;
}

}  // namespace warpmark::workloads
