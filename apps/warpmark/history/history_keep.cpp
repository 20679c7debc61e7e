#include "warpmark/history/history_keep.h"

#include <fmt/format.h>

#include <limits>
#include <ostream>

#include "base/units.h"
#include "exchange/imported.h"
#include "model/names.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr std::size_t kShown = 20;

/// The beginning of a day, or a moment, as the store writes it.
Result<std::string> moment_of(const std::string& typed) {
  const auto utc = exchange::to_utc(typed.size() == 10 ? typed + "T00:00:00Z" : typed);
  if (utc) return *utc;
  return usage_error("'" + typed + "' is no date", "for example 2026-03-01 or 2026-03-01T12:00:00Z");
}

struct Selection {
  std::vector<store::SessionSummary> go;
  std::size_t tagged = 0;  ///< that would go without their tag
  std::size_t stay = 0;
};

Result<Selection> select(const ParsedOptions& options, store::Store& store) {
  if (options.has("--keep") == options.has("--before")) {
    return usage_error("which sessions shall go?",
                       "--keep N keeps the newest N, --before DATE those since then; one of the two");
  }
  std::int64_t keep = 0;
  std::string before;
  if (options.has("--keep")) {
    WM_ASSIGN(keep, parse_integer(options.get("--keep")));
    if (keep < 0) return usage_error("--keep cannot be below 0");
  } else {
    WM_ASSIGN(before, moment_of(options.get("--before")));
  }
  WM_ASSIGN(auto sessions, store.sessions({.limit = std::numeric_limits<std::int64_t>::max()}));
  Selection selection;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const bool goes = before.empty() ? static_cast<std::int64_t>(i) >= keep : sessions[i].started < before;
    if (goes && sessions[i].tags.empty()) {
      selection.go.push_back(std::move(sessions[i]));
    } else {
      selection.tagged += goes ? 1 : 0;
      ++selection.stay;
    }
  }
  return selection;
}

std::int64_t results_in(const store::SessionSummary& session) {
  std::int64_t count = 0;
  for (const auto& [outcome, runs] : session.outcomes) count += runs;
  return count;
}

void show_changes(Context& context, const Selection& selection) {
  Table table{{{"session"}, {"started"}, {"results", Align::right}, {"commit"}}, {}};
  std::int64_t results = 0;
  for (const auto& session : selection.go) {
    results += results_in(session);
    if (table.rows.size() == kShown) continue;
    table.rows.push_back({{session.id},
                          {session.started},
                          {std::to_string(results_in(session))},
                          {session.commit.substr(0, 10) + (session.dirty ? "*" : "")}});
  }
  context.out << report::render_table(table, render_options(context));
  if (selection.go.size() > kShown) context.out << fmt::format("and {} more\n", selection.go.size() - kShown);
  context.out << fmt::format("\n{} with {}; {}", report::format_plural(selection.go.size(), "session", "sessions"),
                             report::format_plural(static_cast<std::size_t>(results), "result", "results"),
                             selection.stay == 1 ? "1 stays" : fmt::format("{} stay", selection.stay));
  if (selection.tagged > 0) context.out << fmt::format(", {} of them for their tags", selection.tagged);
  context.out << '\n';
}

}  // namespace

Result<int> tag_session(Context& context, const ParsedOptions& options, store::Store& store) {
  const auto& words = options.positionals();
  if (options.has("--remove")) {
    if (words.size() != 1) return usage_error("--remove NAME takes off a tag and nothing else");
    WM_TRY(store.untag(options.get("--remove")));
    context.out << "the tag '" << options.get("--remove") << "' is off\n";
    return kSuccess;
  }
  if (words.size() != 3) return usage_error("a tag needs a session and a name", "warpmark history tag last v1.2");
  WM_TRY(store.tag(words[1], words[2]));
  WM_ASSIGN(const auto tagged, store.load(words[2]));
  context.out << tagged.session.id << " is now also '" << words[2] << "'\n";
  return kSuccess;
}

Result<int> prune_sessions(Context& context, const ParsedOptions& options, store::Store& store) {
  WM_ASSIGN(const auto selection, select(options, store));
  if (selection.go.empty()) {
    context.out << fmt::format("nothing to delete: {} sessions stay\n", selection.stay);
    return kSuccess;
  }
  show_changes(context, selection);
  if (!options.has("--yes")) {
    context.out << "Nothing was deleted. To delete these for good, add --yes.\n";
    return kSuccess;
  }
  std::vector<std::string> ids;
  for (const auto& session : selection.go) ids.push_back(session.id);
  WM_TRY(store.prune(ids));
  context.out << "Deleted.\n";
  return kSuccess;
}

}  // namespace warpmark::apps
