// What one way of doing a work gains over another one measured in the same session: a fused kernel over the steps it
// fuses, a precision over f32. Part of "warpmark.results/1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/metric.h"

namespace warpmark {

struct RunSpeedUp {
  std::int64_t run = 0;              ///< Run::index
  std::int64_t against = 0;          ///< of the baseline, which differs in one parameter alone
  std::string parameter;             ///< "impl", "dtype"
  std::string baseline;              ///< its value there: "standard", "unfused", "f32"
  double ratio = 1;                  ///< time of the baseline over that of the run: above 1 the run is faster
  std::optional<Interval> interval;  ///< of the ratio
};

[[nodiscard]] Json to_json(const std::vector<RunSpeedUp>& speedups);

}  // namespace warpmark
