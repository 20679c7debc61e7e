// Systems against the first one, on the same examples: differences, tests, margins, what flipped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "accuracy/significance/comparison.h"
#include "base/files.h"
#include "base/json.h"
#include "report/draw/table.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/eval/eval_parts.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using accuracy::SystemComparison;
using accuracy::SystemVerdict;

Tone tone_of_verdict(SystemVerdict verdict) {
  switch (verdict) {
    case SystemVerdict::worse: return Tone::bad;
    case SystemVerdict::undecided: return Tone::warning;
    case SystemVerdict::better:
    case SystemVerdict::not_worse:
    case SystemVerdict::equivalent: return Tone::good;
    case SystemVerdict::no_difference: return Tone::plain;
  }
  return Tone::plain;
}

std::string p_text(double p) { return p < 0.0001 ? "< 0.0001" : fmt::format("{:.4f}", p); }

/// Pairs that can decide at 5 %: of fewer, 2 / 2^n is above it even where all differ the same way, and a bootstrap has
/// too few to draw from.
constexpr std::int64_t kFewestPairs = 6;

bool has_few_pairs(const SystemComparison& one) {
  return static_cast<std::int64_t>(one.groups > 0 ? one.groups : one.n) < kFewestPairs;
}

Table comparison_table(const std::vector<SystemComparison>& comparisons) {
  Table table{{{"metric"},
               {"system"},
               {"score", Align::right},
               {"change", Align::right},
               {"interval of the change", Align::right},
               {"relative", Align::right, 1},
               {"p", Align::right},
               {""}},
              {}};
  for (const auto& one : comparisons) {
    const bool first_of_metric = &one == comparisons.data() || (&one)[-1].metric != one.metric;
    if (first_of_metric) {
      table.rows.push_back({{one.metric},
                            {one.first},
                            {fmt::format("{:.4f}", one.first_value)},
                            {""},
                            {""},
                            {""},
                            {""},
                            {"", Tone::quiet}});
    }
    const std::string relative =
        one.first_value == 0 ? "" : fmt::format("{:+.2f} %", 100 * one.difference / std::fabs(one.first_value));
    table.rows.push_back({{""},
                          {one.second},
                          {fmt::format("{:.4f}", one.second_value)},
                          {fmt::format("{:+.4f}", one.difference)},
                          {has_few_pairs(one) ? std::string("too few")
                                              : fmt::format("{:+.4f} to {:+.4f}", one.interval.low, one.interval.high)},
                          {relative},
                          {p_text(one.adjusted_p)},
                          {name_of(one.verdict), tone_of_verdict(one.verdict)}});
  }
  return table;
}

void print_tests(std::ostream& out, const SystemComparison& one) {
  out << fmt::format("\n{}, {} against {} (n {}{}): {} p {}\n", one.metric, one.second, one.first, one.n,
                     one.groups > 0 ? fmt::format(" in {} groups", one.groups) : "", one.test, p_text(one.p));
  if (has_few_pairs(one)) {
    out << fmt::format("  warning: {} {} are too few for an interval or a test; at least {} are needed\n",
                       one.groups > 0 ? one.groups : one.n, one.groups > 0 ? "groups" : "examples", kFewestPairs);
    return;
  }
  out << fmt::format("  paired bootstrap p {}, approximate randomization p {}", p_text(one.bootstrap.p),
                     p_text(one.randomization_p));
  if (one.means && one.test != "paired t") out << fmt::format(", paired t p {}", p_text(one.means->p));
  if (one.wilcoxon_p) out << fmt::format(", Wilcoxon p {}", p_text(*one.wilcoxon_p));
  if (one.mcnemar) out << fmt::format(", McNemar mid-p {}", p_text(one.mcnemar->mid_p));
  out << '\n';
  if (const auto& relative = one.bootstrap.relative) {
    out << fmt::format("  relative change {:+.2f} % to {:+.2f} % (paired bootstrap)\n", 100 * relative->low,
                       100 * relative->high);
  }
  // Where no example differs there is no spread that would tell what could be found.
  if (!(one.detectable > 0)) {
    if (one.difference == 0) out << fmt::format("  all {} examples have the same score in both\n", one.n);
    return;
  }
  out << fmt::format("  {} examples find a difference of {:.4f} with 80 %", one.n, one.detectable);
  if (one.examples_needed) {
    out << fmt::format("; for the {:.4f} seen it takes {}", std::fabs(one.difference), *one.examples_needed);
  }
  out << '\n';
}

void print_flips(std::ostream& out, const SystemComparison& one, std::size_t most) {
  if (!one.mcnemar) return;
  const auto list = [&](const char* what, const std::vector<std::string>& ids) {
    out << fmt::format("  {} {}", ids.size(), what);
    for (std::size_t i = 0; i < std::min(most, ids.size()); ++i) out << (i == 0 ? ": " : ", ") << ids[i];
    if (ids.size() > most && most > 0) out << fmt::format(", and {} more", ids.size() - most);
    out << '\n';
  };
  list("right became wrong", one.broken);
  list("wrong became right", one.fixed);
}

void print_subjects(Context& context, const SystemComparison& one) {
  if (one.by.empty()) return;
  Table table{{{"subject"},
               {one.first, Align::right},
               {one.second, Align::right},
               {"change", Align::right},
               {"interval", Align::right},
               {"n", Align::right}},
              {}};
  for (const auto& part : one.by) {
    table.rows.push_back({{part.subject},
                          {fmt::format("{:.4f}", part.first)},
                          {fmt::format("{:.4f}", part.second)},
                          {fmt::format("{:+.4f}", part.second - part.first)},
                          {fmt::format("{:+.4f} to {:+.4f}", part.interval.low, part.interval.high)},
                          {std::to_string(part.n)}});
  }
  context.out << report::render_table(table, render_options(context));
}

void print_divergence(std::ostream& out, const accuracy::Divergence& one) {
  out << fmt::format("{} against {}: {} of {} outputs are the same text", one.second, one.first, one.equal, one.n);
  if (one.first_difference) {
    out << fmt::format("; the others differ from {} {:g} on (median)", one.in_tokens ? "token" : "character",
                       *one.first_difference + 1);
  }
  if (one.mean_logprob_change) {
    out << fmt::format("; log-probabilities of equal tokens differ by {:.3g} nats, at most {:.3g}",
                       *one.mean_logprob_change, *one.most_logprob_change);
  }
  out << '\n';
}

accuracy::CompareSystemsOptions compare_settings(const EvalRequest& request) {
  return {.resample = request.scores.resample,
          .alpha = 1 - request.scores.resample.confidence,
          .margin = request.margin,
          .equivalence = request.equivalence,
          .by_subject = !request.fields.subject.empty()};
}

/// The systems that repeat the baseline say how much comes of nothing.
void print_noise_floor(std::ostream& out, const std::vector<SystemComparison>& noise,
                       const std::vector<SystemComparison>& comparisons) {
  for (const auto& one : noise) {
    out << fmt::format("noise floor of {}: {} run twice differs by {:+.4f} ({} right became wrong, {} the other way)\n",
                       one.metric, one.first, one.difference, one.broken.size(), one.fixed.size());
    for (const auto& other : comparisons) {
      if (other.metric != one.metric || std::fabs(other.difference) > std::fabs(one.difference)) continue;
      out << fmt::format("  {} differs by {:+.4f}: within the noise\n", other.second, other.difference);
    }
  }
}

int exit_code_of_comparison(Context& context, const std::vector<SystemComparison>& comparisons) {
  for (const auto& [verdict, code] :
       {std::pair{SystemVerdict::worse, kAccuracyRejected}, {SystemVerdict::undecided, kInconclusive}}) {
    const auto found =
        std::ranges::find_if(comparisons, [&](const SystemComparison& one) { return one.verdict == verdict; });
    if (found == comparisons.end()) continue;
    return exit_because(
        context, code,
        fmt::format("{} of {} compared with {}: {}", found->metric, found->second, found->first, name_of(verdict)));
  }
  return kSuccess;
}

void print_comparisons(Context& context, const EvalRequest& request, const std::vector<SystemComparison>& comparisons) {
  context.out << report::render_table(comparison_table(comparisons), render_options(context));
  if (context.quiet) return;
  for (const auto& one : comparisons) {
    std::ostringstream text;
    print_tests(text, one);
    print_flips(text, one, static_cast<std::size_t>(request.flips));
    print_lines(context, text.str());
    print_subjects(context, one);
    if (const double warned = request.warn_drop * one.full; one.loss() > warned) {
      print_lines(context, fmt::format("  warning: {} loses {:.4f}, more than {:g}\n", one.second, one.loss(), warned));
    }
  }
  if (comparisons.size() > 1) context.out << "\np values of the table are adjusted for all of its lines (Holm)\n";
  if (!request.margin && !request.equivalence) {
    print_lines(context, "no difference found is not the same as none: --margin asks whether a loss can be ruled out");
  }
}

}  // namespace

Result<int> eval_compare(Context& context, const ParsedOptions& options, const EvalRequest& request) {
  std::vector<std::string> outputs(options.positionals().begin() + 1, options.positionals().end());
  outputs.insert(outputs.end(), request.predictions.begin(), request.predictions.end());
  if (outputs.size() < 2) {
    return usage_error("a comparison needs two files of answers",
                       "warpmark eval compare a.jsonl b.jsonl --ref ref.jsonl");
  }
  if (request.metrics.empty()) return usage_error("--metric is missing", "--metric accuracy; eval list shows them");
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  if (request.margin && request.equivalence) return usage_error("give --margin or --equivalence, not both");
  WM_ASSIGN(const auto metrics, eval_metrics(context, request.settings, request.metrics));
  WM_ASSIGN(const auto inputs, eval_inputs(context, request, outputs));
  const auto settings = compare_settings(request);
  WM_ASSIGN(const auto comparisons, accuracy::compare_systems(inputs.examples, metrics.metrics, settings));
  std::vector<SystemComparison> noise;
  if (!request.again.empty()) {
    WM_ASSIGN(const auto twice, eval_inputs(context, request, {outputs.front(), request.again}));
    WM_ASSIGN(noise, accuracy::compare_systems(twice.examples, metrics.metrics, settings));
  }
  std::vector<accuracy::Divergence> divergences;
  for (std::size_t s = 1; s < outputs.size(); ++s)
    divergences.push_back(accuracy::divergence_of(inputs.examples, 0, s));
  const Json document = accuracy::to_json(comparisons, divergences);
  if (request.format == "json") {
    context.out << dump_json(document) << '\n';
  } else {
    if (!context.quiet) print_noise_floor(context.out, noise, comparisons);
    print_comparisons(context, request, comparisons);
    if (!context.quiet) {
      for (const auto& one : divergences) print_divergence(context.out, one);
    }
  }
  WM_TRY(write_json(options, document));
  return exit_code_of_comparison(context, comparisons);
}

}  // namespace warpmark::apps
