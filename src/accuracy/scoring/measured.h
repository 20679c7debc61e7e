// What every metric becomes before anything is said about it: one row for each answer of each system, and a value of
// any choice of rows. Intervals and tests resample rows and know nothing of the metric.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/metric.h"

namespace warpmark::accuracy {

using Rows = std::span<const std::uint32_t>;

struct Measured {
  std::size_t examples = 0;
  std::size_t systems = 0;  ///< row of a system's answer to an example: system * examples + example
  std::function<double(Rows rows)> value;
  std::vector<double> each;    ///< of each row alone; empty where a metric has no such thing
  bool is_mean = false;        ///< the value is the mean of `each`
  bool is_share = false;       ///< and `each` is 0 or 1
  std::string signature;       ///< all settings that the value depends on
  std::string warning = {};    ///< why the value may not mean what is asked
  std::string undefined = {};  ///< why a value may be NaN
  /// Of what stands in one file for several systems (players of comparisons); empty where systems are files.
  std::vector<std::string> names = {};
};

/// Rows of one system, in the order of the examples.
[[nodiscard]] std::vector<std::uint32_t> rows_of(const Measured& measured, std::size_t system);
[[nodiscard]] double value_of(const Measured& measured, std::size_t system);
/// `each` of one system; empty where there is none.
[[nodiscard]] std::span<const double> each_of(const Measured& measured, std::size_t system);

/// A metric that these examples leave without a value.
[[nodiscard]] Measured undefined_metric(std::size_t examples, std::size_t systems, std::string why);

/// A metric that is the mean over examples.
[[nodiscard]] Measured mean_metric(std::size_t examples, std::size_t systems, std::vector<double> each);

/// A metric of sums: `width` numbers a row, added up over the rows chosen. `each` is what it gives for single rows if
/// `per_row`.
[[nodiscard]] Measured sum_metric(std::size_t examples, std::size_t systems, std::vector<double> numbers,
                                  std::function<double(std::span<const double> sums)> value, bool per_row);

}  // namespace warpmark::accuracy
