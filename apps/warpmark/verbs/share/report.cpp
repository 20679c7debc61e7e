#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "report/build/scaling.h"
#include "report/formats/catalog.h"
#include "report/formats/render.h"
#include "validate/scaling/stored_scaling.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kReportOptions[] = {
    {"--format", "FORMAT", "text (default), md, html, json or google-benchmark", false, "<reporters>"},
    {"--output", "FILE", "write that to a file instead of the terminal", false, "<files>"},
    {"--json", "[FILE]", "also write it as JSON (warpmark.results/1)", false, "<files>"},
    kHtmlOption,
    {"--details", "", "text: also show what other formats fold away"},
    {"--db", "FILE|URL", "database file or postgresql:// URL (default: WARPMARK_DB or your own file)", false,
     "<files>"},
};

/// A session of `scale` by its efficiency and laws, any other by its runs.
report::Shown shown_of(const Session& session) {
  auto shown = report::shown_session(session);
  if (const auto scaling = validate::scaling_of(session)) shown.report = report::build_report(*scaling);
  return shown;
}

/// Several sessions in one report, each under a heading of its own. Data formats hold one session.
report::Shown together(const std::vector<Session>& sessions) {
  Report all{fmt::format("{} sessions", sessions.size()), "", {}};
  for (const Session& session : sessions) {
    Report one = shown_of(session).report;
    all.subtitle += (all.subtitle.empty() ? "" : ", ") + session.id;
    all.sections.push_back({session.id + ": " + one.title, {}, false, false});
    if (!one.subtitle.empty()) all.sections.back().blocks.push_back(Paragraph{one.subtitle, Tone::quiet});
    for (Section& section : one.sections) all.sections.push_back(std::move(section));
  }
  return {std::move(all)};
}

/// A file named as a page or as data is meant to be one.
Status check_form_of_output(const ParsedOptions& options) {
  const std::string file = options.get("--output");
  if (options.has("--format")) return {};
  for (const auto& [ending, option] :
       {std::pair{".html", "--html "}, {".json", "--json "}, {".md", "--format md --output "}}) {
    if (!file.ends_with(ending)) continue;
    return usage_error("--output " + file + " would hold text, as --format is not given", option + file);
  }
  return {};
}

Result<int> run_report(Context& context, const ParsedOptions& options) {
  const std::string format = options.get("--format", "text");
  WM_TRY(check_session_format(format));
  WM_TRY(check_outputs(options));
  if (options.has("--output")) {
    WM_TRY(check_form_of_output(options));
    WM_TRY(check_writable(options.get("--output")));
  }
  std::vector<std::string> words = options.positionals();
  if (words.size() > 1 && (options.has("--json") || find_in(report::reporters(), format) == nullptr)) {
    return usage_error("data formats hold one session", "warpmark report " + words[0] + " --json results.json");
  }
  if (words.empty()) words = {"last"};
  std::vector<Session> sessions;
  for (const auto& word : words) {
    WM_ASSIGN(auto session, load_results(context, options, word));
    sessions.push_back(std::move(session));
  }
  const bool to_file = options.has("--output");
  const auto shown = sessions.size() == 1 ? shown_of(sessions[0]) : together(sessions);
  WM_TRY(write_named_files(options, shown));
  WM_ASSIGN(const auto text, report::render(shown, format,
                                            {.width = to_file ? 100 : context.width,
                                             .whole_tables = to_file || context.whole_tables,
                                             .color = context.color && !to_file,
                                             .unicode = context.unicode || to_file,
                                             .details = options.has("--details") || context.verbose}));
  if (to_file) {
    WM_TRY(write_file(options.get("--output"), text));
  } else {
    context.out << text;
  }
  return kSuccess;
}

}  // namespace

extern const Command report_command{
    .id = "report",
    .summary = "show a stored session again, in any format",
    .details =
        "Shows the newest session, one by its id (or the beginning of it), or a file of results: written with --json, "
        "or in a format of another tool that 'history import' reads. Several make one report, such as of scaling, "
        "utilization and stages; JSON holds one.",
    .options = kReportOptions,
    .positional = {"RUN", "id of a session, last (default), or a file; several make one report", true, "<runs>"},
    .examples =
        "warpmark report\nwarpmark report last --html report.html\nwarpmark report out.json --format "
        "md\nwarpmark report last 20261127-091500 --html report.html",
    .run = run_report,
};

}  // namespace warpmark::apps
