#include "exchange/format.h"

namespace warpmark::exchange {

// clang-format off
#define WARPMARK_FORMATS(X) \
  X(kWarpmark)              \
  X(kGoogleBenchmark)       \
  X(kPytestBenchmark)       \
  X(kNvbench)               \
  X(kHyperfine)             \
  X(kNcclTests)             \
  X(kCustomSmallerIsBetter) \
  X(kCustomBiggerIsBetter)  \
  X(kGithubActionHistory)   \
  X(kPyperf)                \
  X(kAsv)                   \
  X(kCriterion)             \
  X(kJmh)                   \
  X(kGoBench)               \
  X(kCargoBench)            \
  X(kConbench)              \
  X(kIperf3)                \
  X(kNvbandwidth)           \
  X(kOsu)                   \
  X(kSuperbench)            \
  X(kServingResults)        \
  X(kNvbenchCsv)            \
  X(kToolCsv)               \
  X(kBencher)               \
  X(kFlatMetrics)           \
  X(kJunit)                 \
  X(kCsv)                   \
  X(kWideCsv)
// clang-format on

#define WARPMARK_DECLARE(name) extern const Format name;
WARPMARK_FORMATS(WARPMARK_DECLARE)
#undef WARPMARK_DECLARE

Catalog<Format> formats() {
#define WARPMARK_ROW(name) &name,
  static constexpr const Format* kFormats[] = {WARPMARK_FORMATS(WARPMARK_ROW)};
#undef WARPMARK_ROW
  return kFormats;
}

std::vector<std::string> readable_formats() {
  std::vector<std::string> ids;
  for (const Format* format : formats()) {
    if (format->read != nullptr) ids.emplace_back(format->id);
  }
  return ids;
}

std::vector<std::string> writable_formats() {
  std::vector<std::string> ids;
  for (const Format* format : formats()) {
    if (format->write != nullptr) ids.emplace_back(format->id);
  }
  return ids;
}

}  // namespace warpmark::exchange
