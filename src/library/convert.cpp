#include "library/convert.h"

#include <limits>

#include "base/json.h"
#include "model/json/json.h"
#include "model/names.h"

namespace warpmark::library {
namespace {

constexpr const char* kName = "name";

v0::ErrorKind kind_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return v0::ErrorKind::usage;
    case ErrorKind::environment: return v0::ErrorKind::environment;
    case ErrorKind::data: return v0::ErrorKind::data;
    case ErrorKind::unsupported: return v0::ErrorKind::unsupported;
    case ErrorKind::internal: return v0::ErrorKind::internal;
  }
  return v0::ErrorKind::internal;
}

}  // namespace

v0::Error to_public(const Error& error) { return {kind_of(error.kind), error.what, error.hint}; }

v0::Estimate to_public(double value, const std::optional<Interval>& interval) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {value, interval ? interval->low : kNone, interval ? interval->high : kNone};
}

v0::Measurement to_public(const Run& run, double first_call_s) {
  v0::Measurement measured;
  measured.name = run.params.has(kName) ? run.params.text(kName) : run.workload;
  measured.device = run.device;
  measured.outcome = name_of(run.outcome);
  measured.reason = run.reason;
  measured.calls_per_sample = run.timing.launches_per_sample;
  measured.first_call_s = first_call_s;
  measured.converged = run.converged;
  measured.stopped_because = run.stopped_because;
  for (const auto& metric : run.metrics) {
    const auto estimate = to_public(metric.summary.median, metric.summary.median_interval);
    if (metric.id == "time") {
      measured.samples_s = metric.samples;
      measured.median_s = estimate;
      measured.mean_s = metric.summary.mean;
      measured.stdev_s = metric.summary.stdev;
      measured.min_s = metric.summary.min;
    }
    if (metric.id == "bandwidth") measured.bytes_per_s = estimate;
    if (metric.id == "flop_rate") measured.flops_per_s = estimate;
  }
  for (const auto& disturbance : run.environment.disturbances) measured.disturbances.push_back(disturbance.cause);
  measured.json = dump_json(to_json(run), -1);
  return measured;
}

Result<Run> run_of(const v0::Measurement& measurement) {
  WM_ASSIGN(const auto json, parse_json(measurement.json, "the measurement '" + measurement.name + "'"));
  return run_from_json(json);
}

}  // namespace warpmark::library
