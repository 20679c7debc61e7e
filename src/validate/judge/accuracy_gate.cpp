#include "validate/judge/accuracy_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/command_line.h"
#include "stats/moments.h"
#include "stats/summary.h"
#include "stats/tests/sequential.h"
#include "stats/tests/t_tests.h"

namespace warpmark::validate {
namespace {

constexpr std::size_t kFewestValues = 3;
constexpr const char* kCheckPrefix = "accuracy check ";

/// Of B - A, each side at alpha; absent where there are too few values.
std::optional<Interval> interval_of(std::span<const double> a, std::span<const double> b,
                                    const VerdictOptions& options) {
  const std::size_t n = std::min(a.size(), b.size());
  if (!options.paired) {
    if (n < kFewestValues) return std::nullopt;
    return stats::welch_t(a, b, 1 - 2 * options.alpha).interval;
  }
  std::vector<double> differences;
  for (std::size_t i = 0; i < n; ++i) differences.push_back(b[i] - a[i]);
  const auto sequential = stats::sequential_t(differences, {.alpha = 2 * options.alpha});
  if (options.sequential || sequential.stdev == 0) return sequential.interval;
  if (n < kFewestValues) return std::nullopt;
  return stats::one_sample_t(differences, 1 - 2 * options.alpha).interval;
}

void judge_command(AccuracyVerdict& verdict, std::span<const double> a, std::span<const double> b) {
  const auto wrong_a = std::count(a.begin(), a.end(), 0.0), wrong_b = std::count(b.begin(), b.end(), 0.0);
  verdict.difference = stats::mean_of(b) - stats::mean_of(a);
  if (b.empty()) {
    verdict.reason = "no run was checked";
  } else if (wrong_b > 0) {
    verdict.outcome = AccuracyOutcome::rejected;
    verdict.reason = fmt::format("{} of {} runs of B are wrong", wrong_b, b.size());
    if (wrong_a > 0) verdict.reason += fmt::format(", as are {} of {} of A", wrong_a, a.size());
  } else {
    verdict.outcome = AccuracyOutcome::accepted;
  }
}

void judge_metric(AccuracyVerdict& verdict, std::span<const double> a, std::span<const double> b,
                  const VerdictOptions& options) {
  const double sign = verdict.better == Better::lower ? -1 : 1;
  verdict.median_a = a.empty() ? 0 : stats::median(a);
  verdict.median_b = b.empty() ? 0 : stats::median(b);
  verdict.difference = stats::mean_of(b) - stats::mean_of(a);
  verdict.interval = interval_of(a, b, options);
  const double allowed = verdict.relative ? verdict.margin * std::fabs(stats::mean_of(a)) : verdict.margin;
  if (!verdict.interval) {
    verdict.reason = fmt::format("{} rounds are too few to decide", std::min(a.size(), b.size()));
    return;
  }
  const double low = sign > 0 ? verdict.interval->low : -verdict.interval->high;
  const double high = sign > 0 ? verdict.interval->high : -verdict.interval->low;
  // With a margin of 0 equal values are accepted.
  if (low > -allowed || (low == 0 && allowed == 0)) {
    verdict.outcome = AccuracyOutcome::accepted;
  } else if (high < -allowed) {
    verdict.outcome = AccuracyOutcome::rejected;
    verdict.reason = fmt::format("{} by {:.4g}, allowed is {:.4g}", sign > 0 ? "lower" : "higher",
                                 std::fabs(verdict.difference), allowed);
  } else {
    verdict.reason = fmt::format("it may be worse by {:.4g}, allowed is {:.4g}; more rounds would decide",
                                 std::max(0.0, -low), allowed);
  }
}

}  // namespace

std::string check_metric(std::size_t gate) { return fmt::format("{}{}", kCheckPrefix, gate + 1); }

bool is_check_metric(const std::string& id) { return id.starts_with(kCheckPrefix); }

AccuracyVerdict judge_accuracy(const AccuracyGate& gate, const Metric& metric, std::span<const double> a,
                               std::span<const double> b, const VerdictOptions& options) {
  AccuracyVerdict verdict{.name = gate.metric, .unit = metric.unit, .better = metric.better};
  verdict.n = static_cast<std::int64_t>(std::min(a.size(), b.size()));
  if (gate.metric.empty()) {
    verdict.command = true;
    verdict.name = command_line(gate.command);
    judge_command(verdict, a, b);
    return verdict;
  }
  verdict.margin = gate.margin;
  verdict.relative = gate.relative;
  judge_metric(verdict, a, b, options);
  return verdict;
}

}  // namespace warpmark::validate
