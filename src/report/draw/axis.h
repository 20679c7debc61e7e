// From values to places on an axis: the range that is shown, its round tick values and their labels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/report.h"

namespace warpmark::report {

struct Range {
  double low = 0;
  double high = 1;
};

class Scale {
 public:
  /// Covers all finite values (positive ones on a logarithmic axis), widened to round ends. Without any: 0..1, 1..10.
  Scale(std::span<const double> values, const Axis& axis);

  /// 0 at the low end, 1 at the high end; outside values are clamped. NaN for what the axis cannot show.
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] bool shows(double value) const;
  [[nodiscard]] Range range() const { return range_; }

  /// At most `most` tick values, low to high: 1, 2 or 5 times a power of ten; powers of two for bytes.
  [[nodiscard]] std::vector<double> ticks(std::size_t most) const;

 private:
  [[nodiscard]] std::vector<double> logarithmic_ticks(std::size_t most) const;
  Axis axis_;
  Range range_;
};

/// The label of a tick: as format_quantity, without trailing zeros ("1 µs", "10 GB/s").
[[nodiscard]] std::string tick_label(double value, std::string_view unit);

/// Of all ticks of an axis: with as many digits as tell them apart.
[[nodiscard]] std::vector<std::string> tick_labels(std::span<const double> ticks, std::string_view unit);

/// The range in which nearly all samples of a distribution lie: a few outliers must not squeeze the rest. Never empty.
[[nodiscard]] Range shown_range(const Distribution& distribution);

}  // namespace warpmark::report
