#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "report/formats/render.h"
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

Result<int> run_report(Context& context, const ParsedOptions& options) {
  const std::string format = options.get("--format", "text");
  WM_TRY(check_session_format(format));
  WM_TRY(check_outputs(options));
  if (options.has("--output")) WM_TRY(check_writable(options.get("--output")));
  const auto& words = options.positionals();
  WM_ASSIGN(const auto session, load_results(context, options, words.empty() ? "last" : words[0]));
  const bool to_file = options.has("--output");
  const auto shown = report::shown_session(session);
  WM_TRY(write_named_files(options, shown));
  WM_ASSIGN(const auto text, report::render(shown, format,
                                            {.width = to_file ? 100 : context.width,
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
        "or in a format of another tool that 'history import' reads.",
    .options = kReportOptions,
    .positional = {"RUN", "id of a session, last (default), or a file", false, "<runs>"},
    .examples =
        "warpmark report\nwarpmark report last --html report.html\nwarpmark report out.json --format "
        "md",
    .run = run_report,
};

}  // namespace warpmark::apps
