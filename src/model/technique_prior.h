// What other programs gained by a technique, as a yardstick beside what one program did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace warpmark {

/// Gains are factors; above 1 is faster.
struct TechniquePrior {
  std::string bottleneck;           ///< the finding that the technique answers: "data_loading"
  std::int64_t programs = 0;        ///< that have it, each measured before and after mending it by hand
  double median = 1;                ///< of their gains
  double low = 1;                   ///< half of them lie between this ...
  double high = 1;                  ///< ... and this
  std::optional<double> guide_low;  ///< what guides say
  std::optional<double> guide_high;
  std::string source;  ///< of the programs' gains
};

}  // namespace warpmark
