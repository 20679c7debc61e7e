#include "validate/commands/command_experiment.h"

#include <fmt/format.h>

#include "model/run_query.h"
#include "stats/random.h"
#include "stats/summary.h"

namespace warpmark::validate {
namespace {

constexpr std::string_view kVersus = "_vs_";
constexpr std::size_t kNameLength = 10;

void add_ratios(Run& run, const Run& reference, const std::string& name) {
  std::vector<Metric> ratios;
  for (const auto& metric : run.metrics) {
    const Metric* other = metric_of(reference, metric.id);
    if (other == nullptr || !(metric.summary.median > 0) || !(other->summary.median > 0)) continue;
    ratios.push_back(stats::sampled_metric(ratio_metric(metric.id, name), "x", metric.better,
                                           {metric.summary.median / other->summary.median}));
  }
  run.metrics.insert(run.metrics.end(), ratios.begin(), ratios.end());
}

}  // namespace

Result<Run> ReferenceExperiment::run(const measure::Config& config) {
  const bool reference_first = (stats::random_bits(seed_, runs_++) & 1U) != 0;
  if (reference_first) {
    WM_ASSIGN(const auto reference, run_reference(config));
    WM_ASSIGN(auto run, subject_.run(config));
    add_ratios(run, reference, name_);
    return run;
  }
  WM_ASSIGN(auto run, subject_.run(config));
  WM_ASSIGN(const auto reference, run_reference(config));
  add_ratios(run, reference, name_);
  return run;
}

Result<Run> ReferenceExperiment::run_reference(const measure::Config& config) {
  auto run = reference_.run(config);
  if (run.ok()) return run;
  Error error = run.error();
  error.what = fmt::format("the reference {}: {}", name_, error.what);
  return error;
}

std::string ratio_metric(std::string_view metric, std::string_view reference_name) {
  return fmt::format("{}{}{}", metric, kVersus, reference_name);
}

std::string_view metric_of_ratio(std::string_view id) {
  const auto at = id.rfind(kVersus);
  if (at == std::string_view::npos || at == 0) return {};
  const auto name = id.substr(at + kVersus.size());
  const bool hexadecimal = name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return name.size() == kNameLength && hexadecimal ? id.substr(0, at) : std::string_view();
}

std::string reference_name(std::string_view commit) { return std::string(commit.substr(0, kNameLength)); }

}  // namespace warpmark::validate
