#include "warpmark/history/history_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/fields/names.h"
#include "model/run_query.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "report/results/labels.h"
#include "stats/tests/compare.h"
#include "warpmark/ab/compare_stored.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

struct Pair {
  const Run* baseline;
  const Run* candidate;
  const Metric* before;
  const Metric* after;
  bool main = true;  ///< shown whatever it is; others where they differ
};

/// Why a pair says nothing about the program, whatever its numbers: empty if it does.
std::string distrust_of_pair(const Run& baseline, const Run& candidate) {
  if (!is_measured(baseline.outcome)) return "the baseline has a wrong result";
  if (!is_measured(candidate.outcome)) return "the candidate has a wrong result";
  const bool before = baseline.outcome == Outcome::unreliable;
  const bool after = candidate.outcome == Outcome::unreliable;
  if (before && after) return "both were disturbed";
  return before ? "the baseline was disturbed" : after ? "the candidate was disturbed" : "";
}

/// The metrics of every case that both sessions measured. Of a command all are main ones, of all else the primary one.
std::vector<Pair> pairs_of(const Session& baseline, const Session& candidate) {
  std::vector<Pair> pairs;
  for (const Run& before : baseline.runs) {
    const auto after = std::find_if(candidate.runs.begin(), candidate.runs.end(),
                                    [&](const Run& run) { return same_case(run, before); });
    if (after == candidate.runs.end()) continue;
    for (const Metric& metric : before.metrics) {
      const Metric* other = metric_of(*after, metric.id);
      if (other != nullptr) pairs.push_back({&before, &*after, &metric, other, speaks_for_itself(before, metric)});
    }
  }
  return pairs;
}

std::string ratio_text(const stats::Comparison& comparison) {
  if (!comparison.ratio_interval) return comparison.ratio > 0 ? fmt::format("{:.3f}", comparison.ratio) : "";
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", comparison.ratio, comparison.ratio_interval->low,
                     comparison.ratio_interval->high);
}

Tone tone_of(stats::Difference difference) {
  if (difference == stats::Difference::better) return Tone::good;
  if (difference == stats::Difference::worse) return Tone::bad;
  return difference == stats::Difference::undecidable ? Tone::warning : Tone::plain;
}

/// Short, so that a row fits into 80 columns.
constexpr auto kDifferenceTexts =
    in_order(stats::Difference::undecidable, "better", "worse", "different", "within noise", "undecided");
const char* verdict_text(stats::Difference difference) {
  return name_in(kDifferenceTexts, static_cast<std::int64_t>(difference));
}

/// Disturbed pairs are left out of the decision: what the disturbance did cannot be separated from what the program
/// did.
std::vector<stats::Comparison> compare_family(const std::vector<Pair>& pairs, double alpha) {
  std::vector<stats::Comparison> comparisons;
  for (const auto& pair : pairs) {
    auto comparison =
        stats::compare({pair.before->samples, pair.before->round_sizes}, {pair.after->samples, pair.after->round_sizes},
                       {.better = pair.before->better, .alpha = alpha});
    if (auto reason = distrust_of_pair(*pair.baseline, *pair.candidate); !reason.empty()) {
      comparison.difference = stats::Difference::undecidable;
      comparison.reason = std::move(reason);
      comparison.p.reset();
    }
    comparisons.push_back(std::move(comparison));
  }
  stats::decide_together(comparisons, alpha);
  return comparisons;
}

bool differs(const stats::Comparison& comparison) {
  return comparison.difference != stats::Difference::indistinguishable &&
         comparison.difference != stats::Difference::undecidable;
}

struct Compared {
  Pair pair;
  stats::Comparison found;
};

/// Main metrics are decided together, so that their certainty does not depend on how many others there are; then those.
/// Of the others only those stay that differ.
std::vector<Compared> compare_all(const std::vector<Pair>& pairs, double alpha) {
  std::vector<stats::Comparison> found(pairs.size());
  for (const bool main : {true, false}) {
    std::vector<Pair> family;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].main != main) continue;
      family.push_back(pairs[i]);
      places.push_back(i);
    }
    const auto decided = compare_family(family, alpha);
    for (std::size_t i = 0; i < places.size(); ++i) found[places[i]] = decided[i];
  }
  std::vector<Compared> shown;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].main || differs(found[i])) shown.push_back({pairs[i], found[i]});
  }
  return shown;
}

Table difference_table(const std::vector<Compared>& compared, const report::RunLabels& labels) {
  Table table{{{"case"},
               {"before", Align::right},
               {"after", Align::right},
               {"ratio", Align::right},
               {"p", Align::right, 1},
               {"verdict"}},
              {}};
  for (const auto& [pair, found] : compared) {
    const bool alone = std::ranges::count_if(compared, [&pair = pair](const auto& other) {
                         return other.pair.main && other.pair.baseline == pair.baseline;
                       }) == 1;
    table.rows.push_back({{labels.full(*pair.baseline) + (pair.main && alone ? "" : " " + pair.before->id)},
                          {report::format_quantity(pair.before->summary.median, pair.before->unit)},
                          {report::format_quantity(pair.after->summary.median, pair.after->unit)},
                          {ratio_text(found)},
                          {found.adjusted_p ? fmt::format("{:.3f}", *found.adjusted_p) : ""},
                          {verdict_text(found.difference), tone_of(found.difference)}});
  }
  return table;
}

Json difference_json(const std::vector<Compared>& compared, const report::RunLabels& labels) {
  Json list = Json::array();
  for (const auto& [pair, found] : compared) {
    Json row{{"case", labels.full(*pair.baseline)},
             {"metric", pair.before->id},
             {"unit", pair.before->unit},
             {"main", pair.main},
             {"before", pair.before->summary.median},
             {"after", pair.after->summary.median},
             {"verdict", verdict_text(found.difference)},
             {"reason", found.reason}};
    if (found.ratio > 0) row["ratio"] = found.ratio;
    if (found.ratio_interval) row.update({{"low", found.ratio_interval->low}, {"high", found.ratio_interval->high}});
    if (found.adjusted_p) row["p"] = *found.adjusted_p;
    list.push_back(std::move(row));
  }
  return {{"schema", "warpmark.session_diff/1"}, {"differences", std::move(list)}};
}

/// Each reason for leaving cases undecided, once, with how many cases it concerns.
std::string undecided_text(const std::vector<Compared>& compared) {
  std::map<std::string, int> reasons;
  for (const auto& [pair, found] : compared) {
    if (found.difference == stats::Difference::undecidable) ++reasons[found.reason];
  }
  std::string text;
  for (const auto& [reason, count] : reasons) text += fmt::format("{} undecided: {}.\n", count, reason);
  return text;
}

}  // namespace

Result<int> diff_sessions(Context& context, const ParsedOptions& options, store::Store& store) {
  const auto& words = options.positionals();
  if (words.size() != 3) return usage_error("diff takes two sessions", "warpmark history diff BASELINE CANDIDATE");
  WM_ASSIGN(const auto baseline, load_session(store, words[1]));
  WM_ASSIGN(const auto candidate, load_session(store, words[2]));
  const bool across = options.has("--across-machines");
  if (baseline.machine.fingerprint != candidate.machine.fingerprint && !across) {
    return environment_error("the sessions come from different machines or drivers",
                             "compare sessions of one machine, or the machines: --across-machines");
  }
  WM_ASSIGN(const double alpha, ratio_of(options, "--alpha", 0.05));
  const auto pairs = pairs_of(baseline, candidate);
  if (pairs.empty()) return usage_error("the sessions have no case in common");
  const auto compared = compare_all(pairs, alpha);
  if (options.has("--json")) {
    WM_TRY(write_json(options, difference_json(compared, report::RunLabels(baseline))));
  }
  const auto rendering = render_options(context);
  auto table = difference_table(compared, report::RunLabels(baseline));
  if (across) {
    table.columns[1].name = machine_name(baseline.machine);
    table.columns[2].name = machine_name(candidate.machine);
  }
  context.out << report::render_table(table, rendering);
  print_lines(context, undecided_text(compared));
  std::int64_t cases = 0, changed = 0, others = 0;
  for (const auto& [pair, found] : compared) {
    cases += pair.main ? 1 : 0;
    changed += pair.main && differs(found) ? 1 : 0;
    others += pair.main ? 0 : 1;
  }
  print_lines(context,
              fmt::format("{} of {} cases differ{}.\n"
                          "ratio: after / before with its {} interval; p adjusted over all cases (Holm).\n",
                          changed, cases, others == 0 ? "" : fmt::format(", and {} of their other metrics", others),
                          report::format_percent(1 - alpha)));
  return kSuccess;
}

}  // namespace warpmark::apps
