#include "warpmark/ab/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "base/text.h"
#include "validate/commands/command_experiment.h"
#include "warpmark/ab/bisect_search.h"
#include "warpmark/ab/git_revisions.h"

namespace warpmark::apps {
namespace {

/// Of the metrics that are worse the one that changed most: it is the easiest to search for.
const MetricCheck* worst(const Check& check) {
  const MetricCheck* found = nullptr;
  const auto size = [](const MetricCheck& metric) { return std::fabs(std::log(metric.ratio.value_or(1))); };
  for (const auto& metric : check.metrics) {
    if (metric.verdict != Verdict::worse) continue;
    if (found == nullptr || size(metric) > size(*found)) found = &metric;
  }
  return found;
}

/// The newest commit of the baseline that the checked one descends from; why not, else.
Result<std::string> last_good(const MetricCheck& metric, const std::string& bad) {
  WM_ASSIGN(const auto ancestors, ancestors_of(bad));
  for (auto point = metric.baseline.rbegin(); point != metric.baseline.rend(); ++point) {
    if (!point->commit.empty() && point->commit != bad && ancestors.contains(point->commit)) return point->commit;
  }
  return data_error("no session of the baseline is of a commit that this one descends from",
                    "rebase it on the baseline's branch, or measure the commit where they parted");
}

}  // namespace

std::optional<Suspects> suspects_of(const Check& check) {
  const MetricCheck* metric = worst(check);
  if (metric == nullptr) return std::nullopt;
  Suspects suspects{.metric = metric->label + " " + metric->metric, .bad = check.commit};
  const auto cannot = [&](const Error& error) {
    suspects.reason = error.what + (error.hint.empty() ? "" : ": " + error.hint);
    return suspects;
  };
  if (check.commit.empty()) {
    return cannot(data_error("the checked session is of no commit", "measure in a git repository"));
  }
  const auto known = find_commit(check.commit);
  if (!known.ok()) return cannot(known.error());
  const auto good = last_good(*metric, known->sha);
  if (!good.ok()) return cannot(good.error());
  suspects.good = *good;
  auto range = first_parent_range(*good, known->sha);
  if (!range.ok()) return cannot(range.error());
  suspects.commits.assign(range->begin() + 1, range->end());
  return suspects;
}

Status search_among(Suspects& suspects, Context& context, const ParsedOptions& options, validate::CommandSpec spec,
                    double effect, double budget_s) {
  if (suspects.commits.empty()) return {};
  std::string wanted = suspects.metric.substr(suspects.metric.rfind(' ') + 1);
  if (const auto subject = validate::metric_of_ratio(wanted); !subject.empty()) wanted = subject;
  std::erase_if(spec.metrics, [&](const auto& metric) { return metric.name != wanted; });
  if (spec.metrics.empty()) {
    return usage_error("the command does not have the metric that became worse: " + wanted,
                       "give the command or --project that measured it");
  }
  spec.accuracy.clear();
  validate::BisectRequest request;
  WM_ASSIGN(request.commits, first_parent_range(suspects.good, suspects.bad));
  request.effect = effect;
  request.builds = validate::default_builds(request.commits.size() - 1);
  request.budget_s = budget_s;
  context.err << fmt::format(
      "searching {} for the one that changed {}\n",
      suspects.commits.size() == 1 ? "1 commit" : fmt::format("{} commits", suspects.commits.size()), wanted);
  WM_ASSIGN(suspects.search, search_culprit(context, options, std::move(spec), request, false));
  return {};
}

}  // namespace warpmark::apps
