// Metrics as Prometheus knows them, and the two texts it reads: the text exposition format 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats) and OpenMetrics 1.0 (openmetrics.io).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace warpmark::watch {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  Labels labels;
  double value = 0;
};

enum class FamilyType { gauge, counter };

struct Family {
  std::string name;  ///< a counter's with the ending "_total", which OpenMetrics demands, unless it is one of DCGM's
  std::string help;
  FamilyType type = FamilyType::gauge;
  std::vector<Sample> samples;
};

enum class TextFormat { prometheus, open_metrics };

/// Families without samples are left out: what is not known has no value. DCGM's counters, whose names lack "_total",
/// are of unknown type in OpenMetrics, which would rename them otherwise. Any text may be a label's value.
[[nodiscard]] std::string render_families(const std::vector<Family>& families, TextFormat format);

/// The Content-Type of a format.
[[nodiscard]] const char* content_type_of(TextFormat format);

}  // namespace warpmark::watch
