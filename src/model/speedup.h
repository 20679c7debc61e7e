// What one way of doing a work gains over another one measured in the same session: a fused kernel over the steps it
// fuses, a precision over f32. Part of "warpmark.results/1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/metric.h"

namespace warpmark {

struct RunSpeedUp {
  std::int64_t run = 0;  ///< Run::index
  std::int64_t against = 0;
  std::string parameter;
  std::string baseline;
  double ratio = 1;
  std::optional<Interval> interval;  ///< of the ratio
};

}  // namespace warpmark
