#include "workloads/feeding/passes.h"

#include <utility>

#include "base/clock.h"
#include "stats/summary.h"

namespace warpmark::workloads {

Result<std::vector<double>> time_passes(const measure::RoundOptions& options, Run& run,
                                        const std::function<Status(double& seconds)>& pass) {
  double seconds = 0;
  WM_TRY(pass(seconds));
  run.warmup = {.launches = 1, .seconds = seconds, .settled = true, .reason = "one pass"};
  run.timing = {"clock_monotonic_raw", 1e-9, 0, 1, 1};
  measure::StoppingRule rule(options.stopping);
  const std::int64_t begin = monotonic_ns();
  while (!rule.done()) {
    if (options.interrupted != nullptr && options.interrupted->load()) {
      run.outcome = Outcome::skipped;
      run.reason = "interrupted";
      return std::vector<double>();
    }
    WM_TRY(pass(seconds));
    rule.add(seconds, static_cast<double>(monotonic_ns() - begin) * 1e-9);
  }
  run.stopped_because = rule.reason();
  run.stop_cause = rule.cause();
  run.converged = rule.converged();
  return rule.samples();
}

bool record_passes(Run& run, ErrorCheck error, std::string reason, const std::vector<double>& seconds) {
  run.outcome = error.value <= error.tolerance ? Outcome::passed : Outcome::failed;
  run.error = std::move(error);
  if (run.outcome == Outcome::failed) {
    run.reason = std::move(reason);
    run.hint = "the speed of a wrong result means nothing and is not shown";
    return false;
  }
  add_samples(run, "time", "s", Better::lower, seconds);
  return true;
}

void add_samples(Run& run, const char* id, const char* unit, Better better, std::vector<double> samples) {
  run.metrics.push_back(stats::sampled_metric(id, unit, better, std::move(samples)));
}

void add_rate(Run& run, const char* id, const char* unit, double work, const std::vector<double>& seconds) {
  std::vector<double> rates;
  for (const double s : seconds) rates.push_back(work / s);
  add_samples(run, id, unit, Better::higher, std::move(rates));
}

}  // namespace warpmark::workloads
