// The parts of the catalog of metrics, one list a file.
#pragma once

#include <span>

#include "accuracy/scoring/metric.h"

namespace warpmark::accuracy {

[[nodiscard]] std::span<const ScoreMetric> text_metrics();
[[nodiscard]] std::span<const ScoreMetric> class_metrics();
[[nodiscard]] std::span<const ScoreMetric> choice_metrics();
[[nodiscard]] std::span<const ScoreMetric> rating_metrics();
[[nodiscard]] std::span<const ScoreMetric> embedding_metrics();
[[nodiscard]] std::span<const ScoreMetric> perplexity_metrics();

}  // namespace warpmark::accuracy
