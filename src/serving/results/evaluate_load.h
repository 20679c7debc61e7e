// From the records of a load to what they support saying. Method, as far as it is not obvious:
//   latency      from sending (sent_ns) and, under its own name, from when the request was due: the second one has no
//                coordinated omission (Tene)
//   warm-up      the requests at the beginning without which the standard error of the mean end-to-end time of the
//                others is smallest: MSER-5 (White, Simulation 69, 1997), at most half of them
//   intervals    of percentiles of requests by order statistics; of gaps between tokens, many of which belong to one
//                request, and of rates by 20 batch means and Student's t (Law, Simulation Modeling and Analysis)
//   throughput   of a window: all of a load of a given number of requests, a load's time without its warm-up else.
//                Tokens whose events arrived within it, of finished and censored requests; requests with the share of
//                their time that lies in it. What failed counts for neither
// Pure.
#pragma once

#include "serving/client/load_plan.h"
#include "serving/results/load_result.h"
#include "serving/results/slo.h"

namespace warpmark::serving {

struct EvaluationOptions {
  double confidence = 0.95;
  bool find_warmup = true;
  double warmup_ratio = 0;  ///< of the requests, instead of finding it; by time, not by completion
  double cooldown_ratio = 0;
  Slo slo;
  Slo goodput;  ///< limits of good requests, instead of those of `slo`
  [[nodiscard]] const Slo& good_requests() const { return goodput.empty() ? slo : goodput; }
};

/// With the records of `outcome`, which are read several times rather than held: RequestRecords::status() tells
/// afterwards whether that went well.
[[nodiscard]] ScenarioResult evaluate_load(LoadOutcome outcome, const LoadPlan& plan, const EvaluationOptions& options);

/// Finds the warm-up of values that come one by one, of which it keeps one in five: of a long load there are millions.
class WarmupSeries {
 public:
  static constexpr std::size_t kBatch = 5;
  void add(double value, std::int64_t at_ns);
  [[nodiscard]] std::size_t batches_left_out() const;
  /// When the first value was added that does not belong to it; 0 where all do not.
  [[nodiscard]] std::int64_t end_ns() const;

 private:
  std::vector<double> means_;
  std::vector<std::int64_t> begins_ns_;
  double sum_ = 0;
  std::size_t in_batch_ = 0;
};

/// How many values at the beginning belong to the warm-up.
[[nodiscard]] std::size_t warmup_length(std::span<const double> series);

/// Percentiles of one value a request, with intervals by order statistics where n supports them; else the value of the
/// sample, and a reason. Of a long series the result has every k-th sample only.
[[nodiscard]] LoadMetric request_metric(std::string id, std::string unit, Better better, std::vector<double> samples,
                                        double confidence);

/// Values of which several belong to one request, in the order of the requests.
struct PooledValues {
  std::vector<double> values;
  std::vector<std::size_t> ends;  ///< of the requests, in `values`
};

/// Intervals by batches of requests.
[[nodiscard]] LoadMetric pooled_metric(std::string id, PooledValues pooled, double confidence);

/// Values of equal parts of a time, such as the rate in each.
[[nodiscard]] LoadMetric rate_metric(std::string id, std::string unit, double rate, std::span<const double> parts,
                                     double confidence);

}  // namespace warpmark::serving
