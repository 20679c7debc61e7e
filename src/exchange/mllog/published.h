// Published results of MLPerf training to compare one's own with (datasheets/published/mlperf-training.csv).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpmark::exchange {

/// The best of its round, accelerator and number of accelerators in the closed division.
struct PublishedResult {
  std::string_view round;  ///< "5.1"
  std::string_view benchmark;
  std::string_view accelerator;
  int accelerators = 0;
  double minutes = 0;
  std::string_view submitter;
};

/// Of the newest round that has the benchmark, by accelerator and number; empty where none has.
[[nodiscard]] std::vector<PublishedResult> published_results(std::string_view benchmark);

}  // namespace warpmark::exchange
