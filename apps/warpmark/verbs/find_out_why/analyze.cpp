// Reads profiles of any supported format and says where the time goes, what is wrong and what fixing it gains.
#include "analyze/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <ostream>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "model/finding.h"
#include "model/json/json_analysis.h"
#include "profile/read_session.h"
#include "report/build/analysis_report.h"
#include "report/build/analysis_table.h"
#include "report/formats/html.h"
#include "report/formats/render.h"
#include "report/timeline/timeline_html.h"
#include "warpmark/command.h"
#include "warpmark/profiles/analyze_query.h"
#include "warpmark/profiles/profile_inputs.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kAnalyzeOptions[] = {
    {"--format", "FORMAT", "what is printed: text (default), md, html or json", false, "text md html json"},
    {"--json", "[FILE]", "also write it as JSON (warpmark.analysis/1, warpmark.profile_diff/1)"},
    {"--html", "FILE", "also write a page with the timeline of one step"},
    {"--all", "", "show every finding in full, not only the first"},
    {"--top", "N", "findings shown in full (default 1; md and html: 5)"},
    {"--details", "", "text: also print the tables of kernels, operators, launches, copies, ..."},
    {"--against", "PATH", "compare with an earlier profile: what got slower, by operator and kernel"},
    {"--source", "DIR", "folder of sources: print the lines of code that findings name"},
    {"--query", "SQL", "query the profile's tables instead (docs/profile-sql.md); --format text or json"},
    {"--max-rows", "N", "rows that --query prints (default 100000); the others are counted"},
    {"--max-bytes", "SIZE", "bytes that --query prints (default 64MiB)"},
    {"--fail-above", "SEVERITY",
     "exit code 1 if a finding is a note, warning or critical (or worse), or above a number 0..1", false,
     "note warning critical"},
};

/// Findings above the returned severity fail the gate; a name fails on findings that bad.
Result<double> gate_of(const std::string& text) {
  if (text == "note") return 0.0;
  if (text == "warning") return std::nextafter(kWarning, 0.0);
  if (text == "critical") return kCritical;
  const auto number = parse_ratio(text);
  if (!number.ok() || *number < 0 || *number > 1) {
    return usage_error("--fail-above cannot be '" + text + "'", "give note, warning, critical or a number from 0 to 1");
  }
  return *number;
}

/// A recording that was never completed, as `warpmark profile` was killed, is still in its parts.
Result<ProfileSession> read(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    std::error_code none;
    const bool parts_alone =
        !std::filesystem::exists(path, none) && std::filesystem::is_directory(path + ".parts", none);
    files.emplace_back(parts_alone ? path + ".parts" : path);
  }
  return profile::read_session(files);
}

/// Options that would do nothing are refused: a gate that is silently off passes everything.
Status check_combination(const ParsedOptions& options) {
  const auto refuse = [&](const char* mode, std::initializer_list<const char*> others, const char* hint) -> Status {
    if (!options.has(mode)) return {};
    for (const char* other : others) {
      if (options.has(other)) return usage_error(std::string(other) + " has no effect with " + mode, hint);
    }
    return {};
  };
  WM_TRY(refuse("--query", {"--against", "--fail-above", "--json", "--html", "--top", "--all", "--details", "--source"},
                "leave one of them out; --format json prints the answer as JSON"));
  for (const char* limit : {"--max-rows", "--max-bytes"}) {
    if (options.has(limit) && !options.has("--query")) {
      return usage_error(std::string(limit) + " has no effect without --query", "--top N limits the findings");
    }
  }
  return refuse("--against", {"--fail-above", "--top", "--all", "--source"}, "ask for the findings without --against");
}

constexpr const char* kFiles[] = {"--json", "--html"};

/// Before the profiles are read, which may take minutes.
Status check_files_writable(const ParsedOptions& options) {
  for (const char* output : kFiles) {
    if (options.has(output)) WM_TRY(check_writable(options.get(output)));
  }
  return {};
}

Status check_files_are_no_inputs(const ParsedOptions& options, const ProfileSession& session) {
  std::vector<std::string> inputs = options.positionals();
  if (options.has("--against")) inputs.push_back(options.get("--against"));
  for (const char* output : kFiles) {
    if (options.has(output)) WM_TRY(check_not_an_input(options.get(output), inputs, session));
  }
  return {};
}

Status show_and_write(Context& context, const ParsedOptions& options, const report::Shown& shown) {
  WM_TRY(show(context, shown, options.get("--format", "text"), options.has("--details")));
  return write_named_files(options, shown);
}

Result<int> print_difference(Context& context, const ParsedOptions& options, const ProfileSession& session) {
  WM_ASSIGN(const auto earlier, read({options.get("--against")}));
  const auto difference = analyze::diff(earlier, session);
  constexpr std::size_t kRows = 20;
  report::Shown shown{report::build_diff_report(difference, kRows)};
  shown.forms.push_back({"json", [&] { return dump_json(to_json(difference)) + "\n"; }});
  WM_TRY(show_and_write(context, options, shown));
  return kSuccess;
}

/// Whether anything was read that a finding could come from.
bool says_something(const ProfileSession& session, const Analysis& analysis) {
  const auto of_gpu = [](const CounterSeries& series) { return series.device >= 0; };
  const auto counts = [&](const std::vector<CounterSeries>& all) {
    return std::any_of(all.begin(), all.end(), of_gpu);
  };
  return !analysis.ranks.empty() || !session.kernels.empty() || !session.collectives.empty() ||
         counts(session.counters) || std::any_of(session.ranks.begin(), session.ranks.end(), [&](const Timeline& rank) {
           return counts(rank.counters);
         });
}

/// The page with the timeline of one step behind its first sections.
std::string with_timeline(std::string page, const ProfileSession& session, const Analysis& analysis) {
  if (session.ranks.empty()) return page;  // kernels or counters alone have none
  constexpr std::string_view kEnd = "</section>\n";
  const auto breakdown = page.find("<h2>Where the time");
  const auto end = breakdown == std::string::npos ? std::string::npos : page.find(kEnd, breakdown);
  page.insert(end != std::string::npos ? end + kEnd.size() : page.rfind("</main>"),
              report::timeline_html(session, analysis));
  return page;
}

/// Files without a timeline (metrics of kernels, counters, benchmarks) stand behind those with one.
void add_sources(const std::vector<std::string>& paths, Analysis& analysis) {
  for (const std::string& path : paths) {
    const bool known = std::ranges::any_of(analysis.sources, [&path](const std::string& source) {
      return source == path || (source.starts_with(path) && std::filesystem::is_directory(path));
    });
    if (!known) analysis.sources.push_back(path);
  }
}

Result<int> run_analyze(Context& context, const ParsedOptions& options) {
  if (options.positionals().empty()) {
    return usage_error("no profile is named", "warpmark analyze trace.json.gz");
  }
  double gate = 2;
  if (options.has("--fail-above")) {
    WM_ASSIGN(gate, gate_of(options.get("--fail-above")));
  }
  WM_ASSIGN(const auto format, format_of(options));
  constexpr std::int64_t kOnPages = 5;
  std::int64_t top = options.has("--all") ? INT32_MAX : format == "text" ? 1 : kOnPages;
  if (options.has("--top")) {
    WM_ASSIGN(top, parse_integer(options.get("--top")));
  }
  if (top < 0) return usage_error("--top cannot be negative");

  WM_TRY(check_combination(options));
  WM_TRY(check_files_writable(options));
  WM_ASSIGN(const auto session, read(options.positionals()));
  WM_TRY(check_files_are_no_inputs(options, session));
  if (options.has("--against")) return print_difference(context, options, session);
  if (options.has("--query")) return print_query(context, session, options);
  analyze::AnalyzeOptions how;
  if (options.has("--source")) {
    WM_ASSIGN(how.source, source_lines(options.get("--source")));
  }
  Analysis analysis = analyze::analyze(session, how);
  add_sources(options.positionals(), analysis);
  report::Shown shown{report::build_analysis_report(analysis, {.top = static_cast<std::size_t>(top)})};
  shown.forms.push_back({"json", [&] { return dump_json(to_json(analysis)) + "\n"; }});
  shown.forms.push_back({"html", [&] {
                           const auto page = report::build_analysis_report(
                               analysis, {.top = static_cast<std::size_t>(std::max(top, kOnPages))});
                           return with_timeline(report::render_html(page), session, analysis);
                         }});
  WM_TRY(show_and_write(context, options, shown));
  if (options.has("--fail-above") && !says_something(session, analysis)) {
    return exit_because(context, kInconclusive, "--fail-above cannot be judged: the profile has no GPU data");
  }
  const bool failed =
      std::ranges::any_of(analysis.findings, [gate](const Finding& finding) { return finding.severity > gate; });
  return exit_because(context, failed ? kGateFailed : kSuccess,
                      "a finding is above --fail-above " + options.get("--fail-above"));
}

}  // namespace

extern const Command analyze_command{
    .id = "analyze",
    .summary = "find the bottleneck in a profile and estimate the speedup of a fix",
    .details =
        "Reads traces of PyTorch (Kineto), jax.profiler and TensorFlow; Nsight Systems (SQLite), Nsight Compute "
        "(CSV) and rocprofv3 (JSON, CSV, SQLite); logs of nvidia-smi (dmon, pmon, --query-gpu), dcgmi dmon and "
        "nccl-tests; and warpmark recordings. Files may be compressed with gzip or zstd. The format is detected "
        "from the content. Several files, or a folder, become one session with one rank per file.\n"
        "\n"
        "Every nanosecond of a step is attributed to one cause, so the parts sum to the step. The estimated "
        "speedup is an interval: the recorded step is re-simulated without half and without all of the cause.",
    .options = kAnalyzeOptions,
    .positional = {"PATH", "profiles, or a folder of them", true, "<files>"},
    .examples =
        "warpmark analyze trace.json.gz\nwarpmark analyze rank0.json rank1.json --html report.html\n"
        "warpmark analyze new.json.gz --against old.json.gz\nwarpmark analyze trace.json.gz --fail-above warning",
    .run = run_analyze,
};

}  // namespace warpmark::apps
