// Sizes of the models' presets: published networks, and tiny ones of the same kind.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace warpmark::workloads {

/// BERT that predicts no words has the head for SQuAD: begin and end of an answer.
struct ModelPreset {
  const char* model;
  const char* preset;
  std::int64_t batch;
  std::vector<std::pair<std::string, std::int64_t>> sizes;
};

[[nodiscard]] std::span<const ModelPreset> model_presets();

/// Rows of MLPerf's tables for Criteo 1TB (mlcommons/training, recommendation).
inline constexpr std::int64_t kCriteoRows[] = {40000000, 39060,    17295,    7424,     20265,  3,     7122, 1543, 63,
                                               40000000, 3067956,  405282,   10,       2209,   11938, 155,  4,    976,
                                               14,       40000000, 40000000, 40000000, 590152, 12973, 108,  36};

/// And how many rows of each a sample has in its second version (mlcommons/training, recommendation_v2).
inline constexpr std::int64_t kCriteoHots[] = {3, 2, 1, 2, 6, 1, 1,  1,   1,  7,  3, 8, 1,
                                               6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1};

}  // namespace warpmark::workloads
