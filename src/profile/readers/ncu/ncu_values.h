// Numbers, units and names as Nsight Compute prints them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace warpmark::profile {

struct NcuValue {
  double value = 0;
  std::string unit;
};

/// "53,261,312", "1.234.567,8" or "1.5" in its base unit: "Gbyte/second" becomes byte/s, "usecond" ns. Nothing for
/// "n/a", "nan" and texts.
[[nodiscard]] std::optional<NcuValue> parse_ncu_value(std::string_view text, std::string_view unit);

/// The metric behind a row of the details page ("Memory Workload Analysis", "Memory Throughput"); the row's own name if
/// it is not known.
[[nodiscard]] std::string ncu_metric_id(std::string_view section, std::string_view label);

/// The metric that a rule's text holds and no other row of that page: "FMA is the highest-utilized pipeline (68.5%)".
[[nodiscard]] std::optional<std::pair<std::string, double>> ncu_metric_in(std::string_view rule_text);

/// "(256, 1, 1)" for "(256, 1, 1)", "256, 1, 1", "256x1x1" and "256".
[[nodiscard]] std::string normal_shape(std::string_view text);

}  // namespace warpmark::profile
