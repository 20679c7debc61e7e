#include "accuracy/scoring/metric.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace warpmark::accuracy {

std::vector<std::uint32_t> rows_of(const Measured& measured, std::size_t system) {
  std::vector<std::uint32_t> rows(measured.examples);
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(system * measured.examples));
  return rows;
}

double value_of(const Measured& measured, std::size_t system) { return measured.value(rows_of(measured, system)); }

std::span<const double> each_of(const Measured& measured, std::size_t system) {
  if (measured.each.empty()) return {};
  return std::span(measured.each).subspan(system * measured.examples, measured.examples);
}

Measured undefined_metric(std::size_t examples, std::size_t systems, std::string why) {
  return {.examples = examples,
          .systems = systems,
          .value = [](Rows) { return std::numeric_limits<double>::quiet_NaN(); },
          .signature = "undefined",
          .undefined = std::move(why)};
}

Measured mean_metric(std::size_t examples, std::size_t systems, std::vector<double> each) {
  Measured measured{.examples = examples, .systems = systems, .value = {}, .each = std::move(each), .signature = {}};
  measured.is_mean = true;
  measured.is_share =
      std::all_of(measured.each.begin(), measured.each.end(), [](double value) { return value == 0 || value == 1; });
  // A copy of the numbers, as the function outlives moves of the struct.
  measured.value = [numbers = measured.each](Rows rows) {
    double sum = 0;
    for (const auto row : rows) sum += numbers[row];
    return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
  };
  return measured;
}

Measured sum_metric(std::size_t examples, std::size_t systems, std::vector<double> numbers,
                    std::function<double(std::span<const double> sums)> value, bool per_row) {
  Measured measured{.examples = examples, .systems = systems, .value = {}, .each = {}, .signature = {}};
  const std::size_t rows = examples * systems, width = rows == 0 ? 0 : numbers.size() / rows;
  if (per_row) {
    for (std::size_t row = 0; row < rows; ++row) {
      measured.each.push_back(value(std::span(numbers).subspan(row * width, width)));
    }
  }
  measured.value = [numbers = std::move(numbers), width, value = std::move(value)](Rows chosen) {
    std::vector<double> sums(width, 0);
    for (const auto row : chosen) {
      for (std::size_t i = 0; i < width; ++i) sums[i] += numbers[row * width + i];
    }
    return value(sums);
  };
  return measured;
}

}  // namespace warpmark::accuracy
