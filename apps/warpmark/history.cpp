// A first look at what was measured before. `diff` sets two sessions against each other, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "base/units.h"
#include "model/names.h"
#include "report/catalog.h"
#include "report/format.h"
#include "report/table.h"
#include "stats/compare.h"
#include "warpmark/command.h"
#include "warpmark/store_access.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kOptions[] = {
    {"--limit", "N", "list: how many sessions (default 20)"},
    {"--alpha", "P", "diff: chance of calling any equal metric different (default 0.05)"},
    {"--db", "FILE", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)", false, "<files>"},
};

report::RenderOptions render_options(const Context& context) {
  return {.width = context.width, .color = context.color, .unicode = context.unicode};
}

std::string outcomes_text(const store::SessionSummary& session) {
  std::string text;
  for (const auto& [outcome, count] : session.outcomes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(outcome));
  }
  return session.complete ? text : text + (text.empty() ? "interrupted" : ", interrupted");
}

Result<int> list_sessions(Context& context, const ParsedOptions& options, store::Store& store) {
  store::SessionQuery query;
  if (options.has("--limit")) {
    WM_ASSIGN(query.limit, parse_integer(options.get("--limit")));
    if (query.limit < 1) return usage_error("--limit must be at least 1");
  }
  WM_ASSIGN(const auto sessions, store.sessions(query));
  if (sessions.empty()) {
    context.out << "nothing is stored yet; measure with: warpmark run\n";
    return kSuccess;
  }
  Table table{{{"session"}, {"results"}, {"command"}}, {}};
  for (const auto& session : sessions) {
    std::string command = session.command;
    if (!session.commit.empty()) command += "  @" + session.commit.substr(0, 10) + (session.dirty ? "*" : "");
    table.rows.push_back({{session.id},
                          {outcomes_text(session), session.complete ? Tone::plain : Tone::warning},
                          {command, Tone::quiet}});
  }
  context.out << report::render_table(table, render_options(context));
  return kSuccess;
}

Result<int> show(Context& context, store::Store& store, const std::string& id) {
  WM_ASSIGN(const auto session, load_session(store, id));
  context.out << find_in(report::reporters(), "text")->render(session, render_options(context));
  return kSuccess;
}

struct Pair {
  const Run* baseline;
  const Metric* before;
  const Metric* after;
};

/// The primary metric of every case that both sessions measured.
std::vector<Pair> pairs_of(const Session& baseline, const Session& candidate) {
  std::vector<Pair> pairs;
  for (const Run& before : baseline.runs) {
    const auto after = std::find_if(candidate.runs.begin(), candidate.runs.end(), [&](const Run& run) {
      return run.workload == before.workload && run.device == before.device && run.mode == before.mode &&
             run.params == before.params;
    });
    if (after == candidate.runs.end() || before.metrics.empty() || after->metrics.empty()) continue;
    pairs.push_back({&before, &before.metrics.front(), &after->metrics.front()});
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

Result<int> diff(Context& context, const ParsedOptions& options, store::Store& store) {
  const auto& words = options.positionals();
  if (words.size() != 3) return usage_error("diff takes two sessions", "warpmark history diff BASELINE CANDIDATE");
  WM_ASSIGN(const auto baseline, load_session(store, words[1]));
  WM_ASSIGN(const auto candidate, load_session(store, words[2]));
  if (baseline.machine.fingerprint != candidate.machine.fingerprint) {
    return environment_error("the sessions come from different machines or drivers", "compare sessions of one machine");
  }
  double alpha = 0.05;
  if (options.has("--alpha")) {
    WM_ASSIGN(alpha, parse_ratio(options.get("--alpha")));
    if (alpha <= 0 || alpha >= 1) return usage_error("--alpha must be between 0 and 1");
  }
  const auto pairs = pairs_of(baseline, candidate);
  if (pairs.empty()) return usage_error("the sessions have no case in common");
  std::vector<stats::Comparison> comparisons;
  for (const auto& pair : pairs) {
    comparisons.push_back(stats::compare({pair.before->samples, pair.before->round_sizes},
                                         {pair.after->samples, pair.after->round_sizes},
                                         {.better = pair.before->better, .alpha = alpha}));
  }
  stats::decide_together(comparisons, alpha);
  Table table{{{"case"},
               {"before", Align::right},
               {"after", Align::right},
               {"ratio", Align::right},
               {"p", Align::right},
               {"verdict"}},
              {}};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [run, before, after] = pairs[i];
    const auto& found = comparisons[i];
    table.rows.push_back({{fmt::format("{} {} {}", run->device, run->workload, to_text(run->params))},
                          {report::format_quantity(before->summary.median, before->unit)},
                          {report::format_quantity(after->summary.median, after->unit)},
                          {ratio_text(found)},
                          {found.adjusted_p ? fmt::format("{:.3f}", *found.adjusted_p) : ""},
                          {stats::name_of(found.difference), tone_of(found.difference)}});
  }
  context.out << report::render_table(table, render_options(context));
  context.out << "p is adjusted over all cases (Holm); ratio is after / before with its "
              << report::format_percent(1 - alpha) << " interval.\n";
  return kSuccess;
}

Result<int> run(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  const std::string action = words.empty() ? "list" : words[0];
  WM_ASSIGN(const auto store, open_store(context, options));
  if (action == "list") return list_sessions(context, options, *store);
  if (action == "show") return show(context, *store, words.size() > 1 ? words[1] : "last");
  if (action == "diff") return diff(context, options, *store);
  const std::vector<std::string> actions{"list", "show", "diff"};
  const auto meant = nearest(action, actions);
  return usage_error("history cannot '" + action + "'",
                     (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "it can: " + join(actions, ", "));
}

}  // namespace

extern const Command history_command{
    .id = "history",
    .summary = "look at stored sessions: list, show, diff",
    .details =
        "list shows the newest sessions, show one of them, diff sets two against each other.\n"
        "\n"
        "diff compares the medians of the rounds, not single samples, as samples of one round share one memory layout "
        "and "
        "one state of the machine. With several cases p is adjusted, so that the chance of calling any equal case "
        "different stays below --alpha.",
    .options = kOptions,
    .positional = {"ACTION", "list (default), show [RUN], diff RUN RUN", true, "list show diff"},
    .examples = "warpmark history\nwarpmark history show last\nwarpmark history diff 20260301-12 last",
    .run = run,
};

}  // namespace warpmark::apps
