// A comparison of two variants, such as the base and the head of a pull request, as GitHub shows it.
#include <fmt/format.h>

#include <algorithm>

#include "report/build/comparison.h"
#include "report/draw/format.h"
#include "report/forge/github.h"
#include "report/forge/github_comment.h"

namespace warpmark::report {
namespace {

constexpr const char* kComparisonHeader =
    "| metric | A | B | change | interval | p | n | verdict |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";

std::string value_cell(const std::vector<double>& values, double median, const std::string& unit) {
  return values.empty() ? "" : comment_text(format_quantity(median, unit));
}

std::string row_of(const MetricVerdict& metric) {
  const std::string interval = metric.interval ? fmt::format("[{}, {}]", format_change(metric.interval->low),
                                                             format_change(metric.interval->high))
                                               : "";
  return fmt::format("| {}{} | {} | {} | {} | {} | {} | {} | {} |\n", comment_text(cut_short(metric.id)),
                     metric.beside ? " (info)" : "", value_cell(metric.a, metric.median_a, metric.unit),
                     value_cell(metric.b, metric.median_b, metric.unit), change_cell(metric.ratio),
                     comment_text(interval), comment_text(format_p(metric.adjusted_p)),
                     std::min(metric.a.size(), metric.b.size()), verdict_cell(metric.verdict));
}

/// The metrics that decide and have one of these verdicts, in the order of the verdicts.
std::vector<const MetricVerdict*> of_verdicts(const Comparison& comparison, std::initializer_list<Verdict> verdicts) {
  std::vector<const MetricVerdict*> found;
  for (const Verdict verdict : verdicts) {
    for (const auto& metric : comparison.metrics) {
      if (!metric.beside && metric.verdict == verdict) found.push_back(&metric);
    }
  }
  return found;
}

std::string gate_text(const AccuracyVerdict& gate) {
  return gate.name + ": " + name_of(gate.outcome) + (gate.reason.empty() ? "" : ", " + gate.reason);
}

std::string reasons_of(const Comparison& comparison) {
  std::string text;
  for (const auto* metric : of_verdicts(comparison, {Verdict::unreliable, Verdict::worse, Verdict::better,
                                                     Verdict::different, Verdict::inconclusive})) {
    text += "- " + comment_text(cut_short(metric->id)) + ": " +
            comment_text(verdict_sentence(*metric, comparison.effect)) + "\n";
  }
  for (const auto& gate : comparison.accuracy) text += "- accuracy: " + comment_text(gate_text(gate)) + "\n";
  for (const auto& item : comparison.disturbances) text += "- " + comment_text(item.cause) + "\n";
  return text;
}

}  // namespace

std::string render_github_comment(const Comparison& comparison, std::size_t limit) {
  const bool rejected = accuracy_rejected(comparison);
  GithubDigest digest{.headline = rejected ? "Rejected: B is less accurate" : headline_of(overall(comparison)),
                      .sentence = fmt::format("A: {}, B: {}", comment_text(cut_short(comparison.name_a)),
                                              comment_text(cut_short(comparison.name_b))),
                      .header = kComparisonHeader,
                      .tag = hidden_tag("compare", comparison.metrics.empty() ? "" : comparison.metrics.front().id)};
  for (const auto* metric : of_verdicts(comparison, {Verdict::unreliable, Verdict::worse, Verdict::better,
                                                     Verdict::different, Verdict::inconclusive})) {
    digest.notable.push_back(row_of(*metric));
  }
  if (auto reasons = reasons_of(comparison); !reasons.empty()) {
    digest.folded.emplace_back("Reasons", std::move(reasons));
  }
  std::string beside;
  for (const auto& metric : comparison.metrics) beside += metric.beside ? row_of(metric) : "";
  if (!beside.empty()) digest.folded.emplace_back("Also measured (does not decide)", kComparisonHeader + beside);
  digest.folded.emplace_back("How it was judged", comment_text(method_text(comparison)) + "\n");
  for (const auto* metric : of_verdicts(comparison, {Verdict::same})) digest.same.push_back(row_of(*metric));
  return render_digest(digest, limit);
}

std::string github_annotations(const Comparison& comparison) {
  std::string text;
  for (const auto& gate : comparison.accuracy) {
    if (gate.outcome == AccuracyOutcome::rejected) text += annotation("error", "accuracy", gate_text(gate));
  }
  const auto add = [&](const char* level, std::initializer_list<Verdict> verdicts) {
    const auto found = of_verdicts(comparison, verdicts);
    for (std::size_t i = 0; i < std::min(found.size(), kGithubAnnotations); ++i) {
      text += annotation(level, found[i]->id, verdict_sentence(*found[i], comparison.effect));
    }
  };
  add("error", {Verdict::unreliable, Verdict::worse});
  add("warning", {Verdict::inconclusive});
  return text;
}

}  // namespace warpmark::report
