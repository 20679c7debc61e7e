// What a kernel profiler (Nsight Compute) measured of single kernel launches, and what communication benchmarks
// printed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpmark {

/// A text that many values have in common: copies share one. Conversions are implicit, as it stands for the text.
class SharedText {
 public:
  SharedText(std::string_view text) : text_(std::make_shared<const std::string>(text)) {}
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  SharedText(const char* text) : SharedText(std::string_view(text)) {}
  operator std::string_view() const { return *text_; }
  [[nodiscard]] const std::string& text() const { return *text_; }
  friend bool operator==(const SharedText& a, std::string_view b) { return *a.text_ == b; }

 private:
  std::shared_ptr<const std::string> text_;  ///< never null
};

struct KernelMetric {
  SharedText id;    ///< Nsight Compute's name: "sm__throughput.avg.pct_of_peak_sustained_elapsed"
  SharedText unit;  ///< base unit as printed: "%", "ns", "byte", "byte/s"
  double value = 0;
};

/// A finding that the kernel profiler's own rules printed.
struct KernelRuleText {
  std::string name;
  std::string type;
  std::string description;
  std::string speedup_type;  ///< "local" or "global"; empty without an estimate
  double speedup_percent = 0;
};

/// One profiled launch. Its times are of serialized, cache-flushed replays: not comparable with a timeline's.
struct KernelProfile {
  std::int64_t id = 0;
  std::int64_t process = 0;
  std::string name;
  std::string grid;  ///< "(256, 1, 1)"
  std::string block;
  std::int64_t stream = 0;
  int device = -1;
  std::string compute_capability;
  std::int64_t ordinal = 0;  ///< 0 for the first launch with this name, grid and block, then 1, ...
  std::vector<KernelMetric> metrics;
  std::vector<KernelRuleText> rules;
  // The launch of a timeline of the same session that it was joined to (profile/join_kernels.h).
  int rank = -1;            ///< index into ProfileSession::ranks; -1 if none fits
  std::uint32_t event = 0;  ///< of that timeline
  /// The metric with this id, if it has a value.
  [[nodiscard]] std::optional<double> metric(const std::string& metric_id) const;
};

/// One row of a communication benchmark.
struct CollectiveResult {
  std::string collective;  ///< "all_reduce", "all_gather", ...
  std::string data_type;
  std::string operation;  ///< "sum"; empty where there is none
  std::int64_t bytes = 0;
  int ranks = 0;
  bool in_place = false;
  double seconds = 0;
  double algorithm_bandwidth = 0;     ///< B/s
  double bus_bandwidth = 0;           ///< B/s
  std::optional<std::int64_t> wrong;  ///< elements; absent if unchecked
};

}  // namespace warpmark
