#include "report/forge/github.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/build/check.h"
#include "report/build/comparison.h"
#include "report/draw/format.h"
#include "report/forge/github_comment.h"

namespace warpmark::report {
namespace {

std::string comment_value(const std::optional<double>& value, const std::string& unit) {
  return value ? comment_text(format_quantity(*value, unit)) : "";
}

constexpr const char* kHeader =
    "| benchmark | metric | baseline | now | change | interval | p | verdict |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";

std::string row_of(const MetricCheck& metric) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", comment_text(cut_short(metric.label)),
                     comment_text(cut_short(metric.metric)), comment_value(metric.level, metric.unit),
                     comment_value(metric.value, metric.unit), change_cell(metric.ratio),
                     comment_text(interval_text(metric)), comment_text(format_p(metric.adjusted_p)),
                     verdict_cell(metric.verdict));
}

std::vector<const MetricCheck*> of_verdicts(const Check& check, std::initializer_list<Verdict> verdicts) {
  std::vector<const MetricCheck*> found;
  for (const Verdict verdict : verdicts) {
    for (const auto& metric : check.metrics) {
      if (metric.verdict == verdict) found.push_back(&metric);
    }
  }
  return found;
}

/// The newest first. GitHub makes links of the hashes.
std::string suspects_list(const Suspects& suspects) {
  constexpr std::size_t kMost = 30;
  std::string text;
  for (std::size_t i = 0; i < std::min(suspects.commits.size(), kMost); ++i) {
    const Commit& commit = suspects.commits[suspects.commits.size() - 1 - i];
    text += fmt::format("- {} {} ({})\n", commit.sha, comment_text(cut_short(commit.subject)),
                        comment_text(cut_short(commit.author)));
  }
  if (suspects.commits.size() > kMost) text += fmt::format("- and {} more\n", suspects.commits.size() - kMost);
  return text;
}

std::string reasons_of(const Check& check) {
  std::string advice;
  for (const auto* text : {&check.moved, &check.advice}) {
    if (!text->empty()) advice += "\n" + comment_text(*text) + "\n";
  }
  std::string text;
  for (const auto* metric : of_verdicts(check, {Verdict::unreliable, Verdict::worse, Verdict::inconclusive})) {
    text += "- " + comment_text(cut_short(metric->label + " " + metric->metric)) + ": " +
            comment_text(verdict_sentence(*metric, check.threshold)) + "\n";
    if (text.size() > 8000) return text + "- and more\n" + advice;
  }
  return text + advice;
}

std::string notes_of(const Check& check) {
  std::string text;
  for (const auto& metric : check.metrics) {
    if (const auto restart = restart_sentence(metric); !restart.empty()) text += "- " + comment_text(restart) + "\n";
    if (text.size() > 8000) return text + "- and more\n";
  }
  for (const auto& name : check.missing) {
    text += "- not measured, though the baseline has it: " + comment_text(cut_short(name)) + "\n";
    if (text.size() > 8000) return text + "- and more\n";
  }
  return text;
}

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
                     metric.auxiliary ? " (info)" : "", value_cell(metric.a, metric.median_a, metric.unit),
                     value_cell(metric.b, metric.median_b, metric.unit), change_cell(metric.ratio),
                     comment_text(interval), comment_text(format_p(metric.adjusted_p)),
                     std::min(metric.a.size(), metric.b.size()), verdict_cell(metric.verdict));
}

/// The metrics that decide and have one of these verdicts, in the order of the verdicts.
std::vector<const MetricVerdict*> of_verdicts(const Comparison& comparison, std::initializer_list<Verdict> verdicts) {
  std::vector<const MetricVerdict*> found;
  for (const Verdict verdict : verdicts) {
    for (const auto& metric : comparison.metrics) {
      if (!metric.auxiliary && metric.verdict == verdict) found.push_back(&metric);
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

std::string github_tag(const Check& check) { return hidden_tag("check", check.branch); }

std::string render_github_comment(const Check& check, std::size_t limit) {
  GithubDigest digest{
      .headline = headline_of(overall(check)), .sentence = {}, .header = kHeader, .tag = github_tag(check)};
  const auto commit = check.commit.empty() ? "" : " of " + check.commit.substr(0, 10);
  digest.sentence =
      fmt::format("{}{} against {}.", verdict_counts(check), commit, comment_text(cut_short(check.branch)));
  for (const auto* metric : of_verdicts(
           check, {Verdict::unreliable, Verdict::worse, Verdict::better, Verdict::different, Verdict::inconclusive})) {
    digest.notable.push_back(row_of(*metric));
  }
  if (check.suspects) {
    digest.notice = comment_text(suspects_sentence(*check.suspects));
    if (!check.suspects->commits.empty()) digest.folded.emplace_back("Suspects", suspects_list(*check.suspects));
  }
  if (auto reasons = reasons_of(check); !reasons.empty()) digest.folded.emplace_back("Reasons", std::move(reasons));
  if (auto notes = notes_of(check); !notes.empty()) digest.folded.emplace_back("Baseline", std::move(notes));
  digest.folded.emplace_back("How it was judged", comment_text(method_text(check)) + "\n");
  for (const auto* metric : of_verdicts(check, {Verdict::same})) digest.same.push_back(row_of(*metric));
  return render_digest(digest, limit);
}

std::string github_annotations(const Check& check) {
  std::string text;
  const auto add = [&](const char* level, std::initializer_list<Verdict> verdicts) {
    const auto found = of_verdicts(check, verdicts);
    for (std::size_t i = 0; i < std::min(found.size(), kGithubAnnotations); ++i) {
      const auto& metric = *found[i];
      text += annotation(level, metric.label + " " + metric.metric, verdict_sentence(metric, check.threshold));
    }
  };
  add("error", {Verdict::unreliable, Verdict::worse});
  add("warning", {Verdict::inconclusive});
  return text;
}

std::string render_github_comment(const Comparison& comparison, std::size_t limit) {
  const bool rejected = rejecting_gate(comparison) != nullptr;
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
  std::string auxiliary;
  for (const auto& metric : comparison.metrics) auxiliary += metric.auxiliary ? row_of(metric) : "";
  if (!auxiliary.empty()) digest.folded.emplace_back("Also measured (does not decide)", kComparisonHeader + auxiliary);
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
