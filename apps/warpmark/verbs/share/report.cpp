#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "loadtest/pages/load_page.h"
#include "report/build/scaling.h"
#include "report/formats/catalog.h"
#include "report/formats/render.h"
#include "validate/scaling/scaling.h"
#include "warpmark/command.h"
#include "warpmark/profiles/program_report.h"
#include "warpmark/sessions/result_files.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kReportOptions[] = {
    {"--format", "FORMAT", "text (default), md, html, json or google-benchmark", false, "<reporters>"},
    {"--output", "FILE", "write that to a file instead of the terminal"},
    {"--json", "[FILE]", "also write it as JSON (warpmark.results/1)"},
    kHtmlOption,
    {"--measure", "", "run the command behind --: record and analyze it, search for a speedup, and report all of it"},
    {"--budget", "TIME", "with --measure: of the search for a speedup (default 5m)"},
    {"--gpus", "1,2,4", "with --measure: also measure how the command scales, with the number for {gpus} in it"},
    {"--out", "DIR", "write results.json, report.md and report.html; with --measure the recording, too"},
    {"--details", "", "text: also show what other formats fold away"},
    {"--db", "FILE|URL", "database file or postgresql:// URL (default: WARPMARK_DB or your own file)"},
};

/// What `report` shows of a word: a session, or the page of what a verb kept or wrote of it.
struct Shown {
  std::string name;
  Session session;
  std::optional<Report> page;  ///< of the verdict
};

/// The newest verdict of a stored session that has a page.
Result<std::optional<Report>> page_of_verdict(const Context& context, const ParsedOptions& options,
                                              const std::string& session) {
  WM_ASSIGN(const auto store, open_to_read(context, options));
  WM_ASSIGN(const auto entries, store->documents({.session = session}));  // the newest first
  for (const auto& entry : entries) {
    WM_ASSIGN(const auto document, store->document(session, entry.index));
    WM_ASSIGN(const Json json, parse_json(document.text, entry.kind));
    WM_ASSIGN(auto page, loadtest::page_of_document(json));
    if (page) return page;
  }
  return std::optional<Report>();
}

/// Of a file that holds a verdict.
Result<std::optional<Report>> page_of_file(const std::string& path) {
  WM_ASSIGN(const std::string text, read_file(path));
  const auto json = parse_json(text, path);
  if (!json.ok()) return std::optional<Report>();
  auto page = loadtest::page_of_document(*json);
  if (!page.ok()) return data_error(path + ": " + page.error().what, page.error().hint);
  return page;
}

Result<Shown> look_up(const Context& context, const ParsedOptions& options, const std::string& word) {
  auto session = load_results(context, options, word);
  const bool is_file = is_result_file(word);
  std::optional<Report> page;
  if (is_file && !session.ok() && session.error().kind == ErrorKind::data) {
    WM_ASSIGN(page, page_of_file(word));
    if (page) return Shown{word, {}, std::move(page)};
  }
  if (!session.ok()) return session.error();
  if (!is_file) {
    WM_ASSIGN(page, page_of_verdict(context, options, session->id));
  }
  if (const auto scaling = validate::scaling_of(*session); scaling && !page) page = report::build_report(*scaling);
  return Shown{session->id, std::move(*session), std::move(page)};
}

/// The results of a session stand behind the verdict about them.
report::Shown shown_of(const Shown& one) {
  auto shown = report::shown_session(one.session);
  if (!one.page) return shown;
  Report report = *one.page;
  // The report of a load test has its results.
  const bool measured = std::ranges::any_of(
      one.session.runs, [](const Run& run) { return !run.metrics.empty() && run.workload != "serving"; });
  for (Section& section : shown.report.sections) {
    if (!measured) break;
    section.detail = true;
    section.open = false;
    report.sections.push_back(std::move(section));
  }
  shown.report = std::move(report);
  return shown;
}

/// Several sessions in one report, each under a heading of its own. Data formats hold one session.
report::Shown together(const std::vector<Shown>& sessions) {
  Report all{fmt::format("{} sessions", sessions.size()), "", {}};
  for (const Shown& session : sessions) {
    Report one = shown_of(session).report;
    all.subtitle += (all.subtitle.empty() ? "" : ", ") + session.name;
    all.sections.push_back({session.name + ": " + one.title, {}, false, false});
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

Status put_text(Context& context, const ParsedOptions& options, const report::Shown& shown, const std::string& format) {
  const bool details = options.has("--details");
  if (!options.has("--output")) return show(context, shown, format, details);
  WM_ASSIGN(
      const auto text,
      report::render(shown, format,
                     {.width = 100, .whole_tables = true, .unicode = true, .details = details || context.verbose}));
  return write_file(options.get("--output"), text);
}

/// What the verbs of a report of a program show, in one.
Result<int> report_all(Context& context, const ParsedOptions& options, const std::string& format) {
  if (options.positionals().empty()) {
    return usage_error("--measure needs a command", "warpmark report --measure -- python train.py");
  }
  if (options.has("--json")) {
    return usage_error("--measure writes the JSON of each part into --out", "leave out --json");
  }
  WM_ASSIGN(auto report, report_of_program(context, options, options.positionals()));
  WM_TRY(write_named_files(options, {report}));
  WM_TRY(put_text(context, options, {std::move(report)}, format));
  return context.interrupted.load() ? kInterrupted : kSuccess;
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
  if (options.has("--measure")) return report_all(context, options, format);
  for (const char* name : {"--budget", "--gpus"}) {
    if (options.has(name))
      return usage_error(std::string(name) + " is for --measure", "warpmark report --measure -- COMMAND");
  }
  if (words.size() > 1 &&
      (options.has("--json") || options.has("--out") || find_in(report::reporters(), format) == nullptr)) {
    return usage_error("data formats hold one session", "warpmark report " + words[0] + " --json results.json");
  }
  if (words.empty()) words = {"last"};
  std::vector<Shown> sessions;
  for (const auto& word : words) {
    WM_ASSIGN(auto session, look_up(context, options, word));
    sessions.push_back(std::move(session));
  }
  const auto shown = sessions.size() == 1 ? shown_of(sessions[0]) : together(sessions);
  WM_TRY(write_report(options, "results", shown));
  WM_TRY(put_text(context, options, shown, format));
  return kSuccess;
}

}  // namespace

extern const Command report_command{
    .id = "report",
    .summary = "show a stored session again, in any format",
    .details =
        "Shows the newest session, one by its id (or the beginning of it), or a file: results or a verdict that --json "
        "wrote, or a format of another tool that 'history import' reads. A session that a verb judged begins with that "
        "verdict. Several make one report, such as of scaling, "
        "utilization and stages; JSON holds one.\n"
        "\n"
        "--measure runs a command: 'profile' records it and ends it, with kernel metrics where ncu is installed, "
        "'analyze' "
        "names the bottlenecks, 'optimize' searches for a speedup and proves it, and with --gpus 'scale' measures the "
        "scaling. One report holds what they found; --html writes it as a page.",
    .options = kReportOptions,
    .positional = {"RUN", "id of a session, last (default), or a file; several make one report; or -- CMD", true,
                   "<runs>"},
    .examples =
        "warpmark report\nwarpmark report last --html report.html\nwarpmark report out.json --format "
        "md\nwarpmark report last 20261127-091500 --html report.html\n"
        "warpmark report --measure --html report.html -- python train.py",
    .run = run_report,
};

}  // namespace warpmark::apps
