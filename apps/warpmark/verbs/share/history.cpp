// A first look at what was measured before. `diff` sets two sessions against each other, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "model/fields/fields.h"
#include "model/names.h"
#include "report/draw/table.h"
#include "report/formats/render.h"
#include "report/results/build.h"
#include "warpmark/command.h"
#include "warpmark/history/history_diff.h"
#include "warpmark/history/history_exchange.h"
#include "warpmark/history/history_keep.h"
#include "warpmark/history/history_series.h"
#include "warpmark/sessions/result_files.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"
#include "watch/dashboard/documents.h"

namespace warpmark::apps {
namespace {

using exchange::ImportOptions;

constexpr OptionSpec kHistoryOptions[] = {
    {"--limit", "N", "how many sessions (default 20)", of("list, series")},
    {"--alpha", "P", "chance of calling any equal metric different (default 0.05)", of("diff")},
    {"--across-machines", "", "of two machines, which are what is compared", of("diff")},
    {"--format", "FORMAT", "which format (`warpmark list formats`)", of("export")},
    {"--format", "FORMAT", "if a file fits several", to<&ImportOptions::format>.of("import")},
    {"--out", "FILE", "write to a file instead of the terminal", of("export")},
    {"--commit", "ID", "of this commit", of("list")},
    {"--commit", "ID", "what was measured, where the file does not say", to<&ImportOptions::commit>.of("import")},
    {"--branch", "NAME", "its branch", to<&ImportOptions::branch>.of("import")},
    {"--started", "DATE", "when it was measured, as 2026-03-01T12:00:00Z", to<&ImportOptions::started>.of("import")},
    {"--machine", "NAME", "a name for the machine; 'this' if it is this very one",
     to<&ImportOptions::machine>.of("import")},
    {"--collective", "NAME", "what a log of nccl-tests measured, where it does not say: all_reduce, ...",
     to<&ImportOptions::collective>.of("import")},
    {"--better", "NAME=WAY", "lower, higher or neither is better, for names that do not say it (globs)",
     by<direction_of, &ImportOptions::better>.of("import")},
    {"--remove", "NAME", "takes this tag off", of("tag")},
    {"--keep", "N", "the newest N sessions stay", of("prune")},
    {"--before", "DATE", "what started before goes", of("prune")},
    {"--yes", "", "really delete", of("prune")},
    {"--json", "[FILE]", "write JSON (warpmark.sessions/1, results/1, series_list/1, session_diff/1, imported/1)",
     of("list, show, series, diff, import")},
    {"--db", "FILE|URL", "database file or postgresql:// URL (default: WARPMARK_DB or your own file)"},
};

constexpr PositionalSpec kHistoryPositional{
    "ACTION",
    "list (default), show [RUN], series [GLOB], diff RUN RUN, import FILE..., export [RUN], tag RUN NAME, "
    "prune",
    true, "list show=<runs> series=<metrics> diff=<runs> import=<files> export=<runs> tag=<runs> prune"};

std::string outcomes_text(const store::SessionSummary& session) {
  std::string text;
  for (const auto& [outcome, count] : session.outcomes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(outcome));
  }
  return session.complete ? text : text + (text.empty() ? "interrupted" : ", interrupted");
}

Result<int> list_sessions(Context& context, const ParsedOptions& options, store::Store& store) {
  store::SessionQuery query;
  query.commit = options.get("--commit");
  if (options.has("--limit")) {
    WM_ASSIGN(query.limit, parse_integer(options.get("--limit")));
    if (query.limit < 1) return usage_error("--limit must be at least 1");
  }
  WM_ASSIGN(const auto sessions, store.sessions(query));
  if (options.has("--json"))
    WM_TRY(write_json(options, write(watch::kSessionsPage, watch::SessionsPage{sessions, {}})));
  if (sessions.empty()) {
    context.out << (query.commit.empty() ? "nothing is stored yet; measure with: warpmark run\n"
                                         : "no session of commit " + query.commit + " is stored\n");
    return kSuccess;
  }
  Table table{{{"session"}, {"date"}, {"value"}, {"results", Align::left, 1}, {"command"}}, {}};
  for (const auto& session : sessions) {
    std::string command = session.command;
    if (!session.tags.empty()) command = "[" + join(session.tags, ", ") + "] " + command;
    if (!session.commit.empty()) command += "  @" + session.commit.substr(0, 10) + (session.dirty ? "*" : "");
    WM_ASSIGN(const auto whole, load_session(store, session.id));
    table.rows.push_back({{session.id},
                          {session.started.substr(0, std::string_view("2026-01-01").size())},
                          {report::headline_value(whole)},
                          {outcomes_text(session), session.complete ? Tone::plain : Tone::warning},
                          {command, Tone::quiet}});
  }
  context.out << report::render_table(report::without_empty_columns(std::move(table)), render_options(context));
  return kSuccess;
}

Result<int> show(Context& context, const ParsedOptions& options, store::Store& store) {
  const auto& words = options.positionals();
  WM_ASSIGN(const auto session, load_session(store, words.size() > 1 ? words[1] : "last"));
  const auto shown = report::shown_session(session);
  WM_TRY(show(context, shown, "text"));
  WM_TRY(write_named_files(options, shown));
  return kSuccess;
}

Result<int> run_history(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  const std::string action = words.empty() ? "list" : words[0];
  const std::vector<std::string> actions{"list", "show", "series", "diff", "import", "export", "tag", "prune"};
  if (std::find(actions.begin(), actions.end(), action) == actions.end()) {
    const auto meant = nearest(action, actions);
    return usage_error("history has no action '" + action + "'; its actions are " + join(actions, ", "),
                       meant.empty() ? "to show a session: warpmark history show " + shell_quote(action)
                                     : "did you mean '" + meant + "'?");
  }
  WM_TRY(check_action(options.specs(), kHistoryPositional, options, action));
  if (options.has("--json")) WM_TRY(check_writable(options.get("--json")));
  const bool writes = action == "import" || action == "tag" || action == "prune";
  WM_ASSIGN(const auto store, writes ? open_store(context, options) : open_to_read(context, options));
  if (action == "list") return list_sessions(context, options, *store);
  if (action == "show") return show(context, options, *store);
  if (action == "series") return show_series(context, options, *store);
  if (action == "diff") return diff_sessions(context, options, *store);
  if (action == "import") return import_files(context, options, *store);
  if (action == "export") return export_session(context, options, *store);
  if (action == "tag") return tag_session(context, options, *store);
  return prune_sessions(context, options, *store);
}

}  // namespace

extern const Command history_command{
    .id = "history",
    .summary = "stored results: list, show, series, diff, import, export, tag",
    .details =
        "list shows the newest sessions, show one of them, series the metrics over time (all, or the points of those "
        "that a pattern matches), diff sets two sessions against each other.\n"
        "\n"
        "diff compares the medians of the rounds, not single samples, as samples of one round share one memory layout "
        "and one state of the machine. With several cases p is adjusted, so that the chance of calling any equal case "
        "different stays below --alpha. Metrics other than the main one of a case are shown where they differ.\n"
        "\n"
        "import stores results of other tools, export writes for them: `warpmark list formats` shows the formats. "
        "Importing "
        "the same results again, or after an interruption, stores what is missing and nothing twice.\n"
        "\n"
        "tag gives a session a name, by which every verb finds it and which keeps it. Nothing else is ever deleted: "
        "prune shows what it would delete, and deletes only with --yes.",
    .options = kHistoryOptions,
    .positional = kHistoryPositional,
    .examples =
        "warpmark history\nwarpmark history show last\nwarpmark history diff 20260301-12 last\n"
        "warpmark history import bench.json --commit 4f1c2ab --machine runner-3\n"
        "warpmark history export last --format csv --out results.csv\n"
        "warpmark history tag last v1.2\n"
        "warpmark history prune --keep 100",
    .run = run_history,
};

}  // namespace warpmark::apps
