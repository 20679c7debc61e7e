// What a kernel profiler (Nsight Compute) measured of single kernel launches, and what communication benchmarks
// printed.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpmark {

/// A value of a kernel, as KernelMetrics gives it: the texts live as long as the kernels of the same file.
struct KernelMetric {
  std::string_view id;    ///< Nsight Compute's name: "sm__throughput.avg.pct_of_peak_sustained_elapsed"
  std::string_view unit;  ///< base unit as printed: "%", "ns", "byte", "byte/s"
  double value = 0;
};

/// Names and units of metrics, each pair kept once for all kernels of a file. Indices are dense and stable. Not thread
/// safe.
class KernelMetricNames {
 public:
  [[nodiscard]] std::uint32_t intern(std::string_view id, std::string_view unit);
  [[nodiscard]] std::string_view id(std::uint32_t index) const { return names_[index].id; }
  [[nodiscard]] std::string_view unit(std::uint32_t index) const { return names_[index].unit; }

 private:
  struct Name {
    std::string id;
    std::string unit;
  };
  std::deque<Name> names_;  // never moves its elements
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> indices_;
};

/// What was measured of one kernel, in the order in which it was printed: 12 bytes a value, as a page of Nsight Compute
/// has thousands of values in few characters each.
class KernelMetrics {
 public:
  KernelMetrics() = default;
  KernelMetrics(std::initializer_list<KernelMetric> metrics);
  explicit KernelMetrics(std::shared_ptr<KernelMetricNames> names) : names_(std::move(names)) {}

  void reserve(std::size_t count);
  void add(std::string_view id, std::string_view unit, double value);
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] KernelMetric operator[](std::size_t i) const;
  /// The first with this id.
  [[nodiscard]] std::optional<double> find(std::string_view id) const;

 private:
  std::shared_ptr<KernelMetricNames> names_;  ///< null until something is added
  std::vector<std::uint32_t> indices_;        ///< into names_
  std::vector<double> values_;
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
  KernelMetrics metrics;
  std::vector<KernelRuleText> rules;
  // The launch of a timeline of the same session that it was joined to (profile/join_kernels.h).
  int rank = -1;            ///< index into ProfileSession::ranks; -1 if none fits
  std::uint32_t event = 0;  ///< of that timeline
  /// The metric with this id, if it has a value.
  [[nodiscard]] std::optional<double> metric(std::string_view metric_id) const { return metrics.find(metric_id); }
};

/// One row of a communication benchmark.
struct CollectiveResult {
  std::string collective;  ///< "all_reduce", "all_gather", ...
  std::string data_type;
  std::string operation;  ///< "sum"; empty where there is none
  std::int64_t bytes = 0;
  int ranks = 0;
  std::string gpu{};  ///< that all ranks have, on one host; empty if they differ or that is not known
  bool in_place = false;
  double seconds = 0;
  double algorithm_bandwidth = 0;     ///< B/s
  double bus_bandwidth = 0;           ///< B/s
  std::optional<std::int64_t> wrong;  ///< elements; absent if unchecked
  int root = -1;                      ///< -1 where there is none
  /// What a benchmark prints besides, by its own names: "i_min", "i_max", "i_p99" in microseconds, "i_cv%" in percent.
  std::vector<std::pair<std::string, double>> others;
  std::vector<double> iteration_seconds;  ///< of single iterations, where they were timed
};

}  // namespace warpmark
