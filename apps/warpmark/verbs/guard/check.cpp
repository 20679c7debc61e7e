
#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "model/check.h"
#include "model/names.h"
#include "report/build/check.h"
#include "report/forge/badge.h"
#include "report/forge/github.h"
#include "report/forge/junit.h"
#include "validate/guard/check_history.h"
#include "validate/guard/series.h"
#include "warpmark/ab/git_revisions.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/ab/suspects.h"
#include "warpmark/command.h"
#include "warpmark/eval/eval_gate.h"
#include "warpmark/sessions/result_files.h"
#include "warpmark/sessions/run_command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using validate::CheckRequest;

struct CheckVerb {
  std::vector<std::string> runs;
  std::vector<std::string> results;
  std::string format = "text";
  std::int64_t sessions = 1;
  bool bisect = false;
  std::optional<double> bisect_budget_s;
  bool keeps = true;  ///< what is measured, and the verdict
};

constexpr OptionSpec kWhatIsChecked[] = {
    {"--run", "RUN",
     "what to check: a session's id (default: the newest of this repository), last, or a file of results; several of "
     "one commit",
     to<&CheckVerb::runs>},
    {"--results", "FILE", "a file of results to check; against a file as --baseline by its values, untested",
     to<&CheckVerb::results>},
    {"--machine", "NAME",
     "of such a file: the machine that measured it, as 'history import' has it; 'this' if this one",
     to<&exchange::ImportOptions::machine>},
    {"--better", "NAME=WAY", "of such a file: lower or higher is better, for names that do not say it (globs)",
     by<direction_of, &exchange::ImportOptions::better>},
};
constexpr OptionSpec kHow[] = {
    {"--format", "FORMAT", "format of what is printed: text, md, html, json, github, junit",
     to<&CheckVerb::format>.chosen(), "text md html json github junit"},
    {"--json", "[FILE]", "also write the check as JSON (warpmark.check/1)"},
    kHtmlOption,
    {"--out", "DIR", "also write check.json, comment.md, junit.xml, badge.svg, report.md and report.html"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)"},
    kEvalGate,
    kEvalGateAnswers,
    kEvalGateReference,
    kEvalGateModel,
    {"--sessions", "N", "how many sessions to measure", to<&CheckVerb::sessions>.within({1, 100}).of("commands")},
    {"--project", "FILE", "measure the command of a project file first"},
    {"--set", "K=V", "fill {name} in the command, or set env.NAME", of("commands").repeats()},
    {"--sweep", "K=A,B,..", "measure every value of a setting", of("commands").repeats()},
    {"--name", "NAME", "what the series is called in the history", of("commands")},
    {"--rounds", "N", "fresh processes in a session (default 10)", of("commands")},
    {"--budget", "TIME", "maximum time for a session", of("commands")},
    {"--warmup", "N", "runs before the first round, discarded (default 1)", of("commands")},
    {"--timeout", "TIME", "maximum time for one run", of("commands")},
    {"--seed", "N", "seed of the order (default 1)", of("commands")},
    {"--shell", "", "run with /bin/sh -c", of("commands")},
    {"--reference", "REV", "measure this revision next to it in every round; judge the ratio", of("commands")},
    {"--no-reference", "", "without the reference that the project names", of("commands")},
    {"--bisect", "", "where a metric is worse, find the commit among those since the last good session",
     to<&CheckVerb::bisect>},
    {"--bisect-budget", "TIME", "maximum time for that (default: no limit); the same check resumes",
     to<&CheckVerb::bisect_budget_s>},
    {"--no-store", "", "add neither the measurement of a command nor the verdict to the history",
     to<&CheckVerb::keeps>},
};

constexpr auto kCheckOptions = joined(validate::kCheckOptions, kWhatIsChecked, validate::kCheckStatistics, kHow);

constexpr std::int64_t kMostSessions = 10'000;

/// The newest session of a commit of this repository; outside of one the newest of all.
Result<std::string> newest_session_here(const Context& context, store::Store& store) {
  WM_ASSIGN(const auto stored, store.sessions({.limit = kMostSessions}));
  std::set<std::string> commits;
  for (const auto& session : stored) commits.insert(session.commit);
  const auto here = commits_here(commits);
  const auto found =
      std::ranges::find_if(stored, [&](const auto& session) { return !here || here->contains(session.commit); });
  if (stored.empty()) return std::string("last");  // which says what is missing
  if (found == stored.end()) {
    return usage_error("no stored session is of a commit of this repository",
                       "measure one: warpmark run -- CMD; or choose one: warpmark history list, check --run ID");
  }
  context.err << fmt::format(
      "Checking {}, the newest session{}: {}\n  --run ID checks another: warpmark history list\n", found->id,
      here ? " of this repository" : "", found->command);
  return found->id;
}

/// Sessions that exist.
Result<std::vector<Session>> named_sessions(const Context& context, store::Store& store, const ParsedOptions& options,
                                            const CheckVerb& verb) {
  std::vector<Session> sessions;
  auto names = verb.runs;
  names.insert(names.end(), verb.results.begin(), verb.results.end());
  WM_ASSIGN(const auto as, read_as(options));
  if (names.empty()) {
    WM_ASSIGN(names.emplace_back(), newest_session_here(context, store));
  }
  for (const auto& name : names) {
    auto session = is_result_file(name) ? read_one_session(name, as) : load_session(store, name);
    if (!session.ok()) return session.error();
    sessions.push_back(std::move(*session));
  }
  return sessions;
}

Result<std::vector<Session>> measured_sessions(Context& context, const ParsedOptions& options, const CheckVerb& verb,
                                               store::Store& store) {
  if (!verb.runs.empty() || !verb.results.empty()) {
    return usage_error("give results or a command, not both", "leave out --run and --results");
  }
  std::vector<Session> sessions;
  for (std::int64_t i = 0; i < verb.sessions; ++i) {
    WM_ASSIGN(auto session, measure_command(context, options, verb.keeps ? &store : nullptr));
    if (!session.complete) return environment_error("interrupted", "nothing was checked");
    sessions.push_back(std::move(session));
  }
  return sessions;
}

Status write_check_files(const ParsedOptions& options, const Check& check, const report::Shown& shown) {
  WM_TRY(write_report(options, "check", shown));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  WM_TRY(write_file(folder / "comment.md", report::render_github_comment(check)));
  WM_TRY(write_file(folder / "badge.svg", report::render_badge(check)));
  return write_file(folder / "junit.xml", report::render_junit(check));
}

Status show_check(Context& context, const ParsedOptions& options, const std::string& format, const Check& check) {
  auto shown = shown_as([&] { return to_json(check); }, report::build_report(check));
  shown.forms.push_back({"github", [&] { return report::render_github_comment(check); }});
  shown.forms.push_back({"junit", [&] { return report::render_junit(check); }});
  WM_TRY(show(context, shown, format));
  context.out.flush();
  context.why = report::verdict_counts(check) + " against " + check.branch;
  if (format == "github") {
    WM_TRY(annotate_step(context, report::github_annotations(check), report::render_github_comment(check)));
  }
  return write_check_files(options, check, shown);
}

/// `check --results NEW.json --baseline OLD.json`: no history, no test.
Result<int> check_files(Context& context, const ParsedOptions& options, const CheckVerb& verb,
                        const CheckRequest& request) {
  const auto& files = verb.results.empty() ? verb.runs : verb.results;
  if (files.empty() || !is_result_file(files.back())) {
    return usage_error("with a file as --baseline, --results names the file to check",
                       "warpmark check --results new.json --baseline " + request.branch);
  }
  WM_ASSIGN(const auto as, read_as(options));
  WM_ASSIGN(const auto baseline, read_one_session(request.branch, as));
  WM_ASSIGN(const auto now, read_one_session(files.back(), as));
  WM_ASSIGN(auto check,
            validate::check_point_values(
                baseline, now, {.name = request.branch, .metrics = request.metrics, .threshold = request.threshold}));
  check.command = command_line_of(context);
  WM_TRY(show_check(context, options, verb.format, check));
  return with_eval_gate(context, options, exit_code_of(overall(check)));
}

/// That a command failed when it was measured for this is a fault of the command, and no doubt about its speed.
int failure_of(Context& context, const std::vector<Session>& sessions) {
  int code = kSuccess;
  for (const auto& session : sessions) {
    for (const Run& run : session.runs) {
      if (run.outcome != Outcome::error) continue;
      context.why = run.reason;
      if (run.fault != ErrorKind::environment) return kUsage;
      code = kEnvironment;
    }
  }
  return code;
}

/// What --bisect builds and runs: the command that was measured, else that of the project file.
Result<validate::CommandSpec> searched_command(const Context& context, const ParsedOptions& options) {
  if (asks_for_command(context, options)) return command_spec_of(context, options);
  std::error_code missing;
  if (std::filesystem::exists("warpmark.yaml", missing)) return project_spec(options);
  return usage_error("--bisect needs to know what to build and run",
                     "give the command behind --, or --project, or write a warpmark.yaml (docs/validate.md)");
}

/// Names the suspects, and with --bisect the culprit.
Status name_suspects(Context& context, const ParsedOptions& options, const CheckVerb& verb, Check& check) {
  check.suspects = suspects_of(check);
  if (!check.suspects || !verb.bisect) return {};
  WM_ASSIGN(auto spec, searched_command(context, options));
  return search_among(*check.suspects, context, options, std::move(spec), check.threshold,
                      verb.bisect_budget_s.value_or(0));
}

Result<int> run_check(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto verb, read_options<CheckVerb>(options));
  WM_ASSIGN(auto request, read_options<CheckRequest>(options));
  const bool measures = asks_for_command(context, options);
  if (!measures && !options.positionals().empty()) {
    return usage_error("unexpected: " + options.positionals().front(), "a command stands after --");
  }
  // Else the newest session would be judged without a word.
  if (const auto name = options.first_in("commands"); !measures && !verb.bisect && !name.empty()) {
    return usage_error(name + " is for a command that is measured now",
                       "put the command behind --, or name its file with --project");
  }
  if (verb.bisect_budget_s && !verb.bisect) {
    return usage_error("--bisect-budget is the time for --bisect, which is not given", "give both");
  }
  WM_TRY(check_outputs(options));
  WM_TRY(check_eval_gate(context, options));
  if (!measures && is_result_file(request.branch)) return check_files(context, options, verb, request);
  WM_ASSIGN(const auto store, measures ? open_store(context, options) : open_to_read(context, options));
  auto sessions =
      measures ? measured_sessions(context, options, verb, *store) : named_sessions(context, *store, options, verb);
  if (!sessions.ok()) {
    if (context.interrupted) return kInterrupted;
    return sessions.error();
  }
  request.ancestors = ancestry_of(sessions->front().commit);
  WM_ASSIGN(auto check, validate::check(request, *store, *sessions));
  check.command = command_line_of(context);
  // The verdict stands whatever becomes of the search.
  if (const auto named = name_suspects(context, options, verb, check); !named.ok()) {
    if (context.interrupted) return kInterrupted;
    context.err << "warpmark: the search for the commit failed: " << named.error().what << '\n';
    if (!named.error().hint.empty()) context.err << "  " << named.error().hint << '\n';
  }
  WM_TRY(show_check(context, options, verb.format, check));
  if (verb.keeps) {
    remember_verdict(context, options, {.sessions = check.sessions, .commit = {}}, to_json(check),
                     fmt::format("{} against {}", name_of(overall(check)), check.branch));
  }
  const int judged = exit_code_of(overall(check));
  const int failed = measures && judged == kInconclusive ? failure_of(context, *sessions) : kSuccess;
  return with_eval_gate(context, options, failed != kSuccess ? failed : judged);
}

}  // namespace

extern const Command check_command{
    .id = "check",
    .summary = "fail if a result is worse than the history of a branch",
    .details =
        "Compares the newest session of this repository with the history of the baseline branch on the same machine. "
        "--run names another session; a command after --, or --project, is measured first.\n"
        "\n"
        "Worse needs both: a change of at least --threshold, and p of at most --alpha (Holm-adjusted over all metrics) "
        "relative to the normal run-to-run variation of the history. After a change point of the history the baseline "
        "starts there, and the output says so. docs/regressions.md lists the exact conditions.\n"
        "\n"
        "If a metric is worse, it lists the suspects: the commits since the last session of the baseline. --bisect "
        "continues as `warpmark bisect` does and finds the culprit; the JSON and the comment show it.\n"
        "\n"
        "With a file as --baseline there is no history and no test: the values alone decide, by --threshold. Results "
        "may be of any format that `history import` reads.\n"
        "\n"
        "Exit code 0: nothing is worse, and a change of --threshold is ruled out; 1: worse; 2: a measured command "
        "failed; 3: too little history or data, and it says how much is missing; 4: the answers of --eval are worse; "
        "5: unreliable, or the history is of another machine, and it says what differs.\n"
        "\n"
        "--format github prints a comment for a pull request and, on stderr, annotations; it adds a job summary if "
        "GITHUB_STEP_SUMMARY is set. docs/ci.md has workflows.",
    .options = kCheckOptions,
    .positional = {"CMD", "after --: a command to measure now", true, ""},
    .examples =
        "warpmark check\n"
        "warpmark check --baseline main --threshold 3% --metrics 'time'\n"
        "warpmark check --project warpmark.yaml --format github > comment.md\n"
        "warpmark check --bisect -- ./bench\n"
        "warpmark check --results new.json --baseline old.json --threshold 5%\n"
        "warpmark check --run results.json --out check/",
    .run = run_check,
};

}  // namespace warpmark::apps
