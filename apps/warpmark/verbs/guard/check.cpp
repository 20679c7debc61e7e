
#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
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
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kCheckOptions[] = {
    {"--baseline", "BRANCH|FILE", "branch whose history is the baseline (default main), or a file of results", false,
     "<files>"},
    {"--threshold", "RATIO", "smallest change for the worse that counts (default 5%)"},
    {"--metrics", "GLOB", "only these: a pattern for a metric, or for \"benchmark metric\"", false, "<metrics>"},
    {"--run", "RUN",
     "what to check: a session's id (default: the newest of this repository), last, or a file of results; several of "
     "one commit",
     true, "<runs>"},
    {"--results", "FILE", "a file of results to check; against a file as --baseline by its values, untested", true,
     "<files>"},
    {"--machine", "NAME",
     "of such a file: the machine that measured it, as 'history import' has it; 'this' if this one"},
    {"--better", "NAME=WAY", "of such a file: lower or higher is better, for names that do not say it (globs)", true},
    {"--alpha", "P", "chance of calling any unchanged metric worse or better (default 0.05)"},
    {"--history", "N", "newest sessions of the baseline to use (default 100)"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json, github, junit", false,
     "text md html json github junit"},
    {"--json", "[FILE]", "also write the check as JSON (warpmark.check/1)", false, "<files>"},
    kHtmlOption,
    {"--out", "DIR", "also write check.json, comment.md, junit.xml, badge.svg, report.md and report.html", false,
     "<files>"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)", false, "<files>"},
    kEvalGate,
    kEvalGateAnswers,
    kEvalGateReference,
    kEvalGateModel,
    {"--sessions", "N", "commands: how many sessions to measure (default 1)"},
    {"--project", "FILE", "measure the command of a project file first", false, "<files>"},
    {"--set", "K=V", "commands: fill {name} in the command, or set env.NAME", true},
    {"--sweep", "K=A,B,..", "commands: measure every value of a setting", true},
    {"--name", "NAME", "commands: what the series is called in the history"},
    {"--rounds", "N", "commands: fresh processes in a session (default 10)"},
    {"--budget", "TIME", "commands: maximum time for a session"},
    {"--warmup", "N", "commands: runs before the first round, discarded (default 1)"},
    {"--timeout", "TIME", "commands: maximum time for one run"},
    {"--seed", "N", "commands: seed of the order (default 1)"},
    {"--shell", "", "commands: run with /bin/sh -c"},
    {"--reference", "REV", "commands: measure this revision next to it in every round; judge the ratio"},
    {"--no-reference", "", "commands: without the reference that the project names"},
    {"--bisect", "", "where a metric is worse, find the commit among those since the last good session"},
    {"--bisect-budget", "TIME", "maximum time for that (default: no limit); the same check resumes"},
    {"--no-store", "", "add neither the measurement of a command nor the verdict to the history"},
};

constexpr std::int64_t kMostSessions = 10'000;

struct CheckRequest {
  validate::CheckOptions check;
  std::string format = "text";
  std::int64_t sessions = 1;
};

Result<CheckRequest> check_request_of(const ParsedOptions& options) {
  CheckRequest request;
  request.check.branch = options.get("--baseline", "main");
  if (request.check.branch.empty()) return usage_error("--baseline needs the name of a branch", "such as main");
  request.check.metrics = options.get("--metrics");
  WM_ASSIGN(request.check.threshold, ratio_of(options, "--threshold", 0.05));
  WM_ASSIGN(request.check.alpha, ratio_of(options, "--alpha", 0.05));
  WM_ASSIGN(request.check.history, count_of(options, "--history", 100, 1, 10'000));
  WM_ASSIGN(request.sessions, count_of(options, "--sessions", 1, 1, 100));
  WM_ASSIGN(request.format, format_of(options, {"text", "md", "html", "json", "github", "junit"}));
  return request;
}

/// What only a command that is measured now has; else the newest session would be judged without a word.
Status check_no_command_options(const ParsedOptions& options) {
  const std::vector<std::string> commands{"commands"};
  for (const OptionSpec& one : kCheckOptions) {
    if (!options.has(one.name) || actions_of(one, commands).empty()) continue;
    return usage_error(std::string(one.name) + " is for a command that is measured now",
                       "put the command behind --, or name its file with --project");
  }
  return {};
}

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

/// Sessions that exist: oldest first.
Result<std::vector<Session>> named_sessions(const Context& context, store::Store& store, const ParsedOptions& options) {
  std::vector<Session> sessions;
  auto names = options.all("--run");
  for (const auto& file : options.all("--results")) names.push_back(file);
  WM_ASSIGN(const auto as, read_as(options));
  if (names.empty()) {
    WM_ASSIGN(names.emplace_back(), newest_session_here(context, store));
  }
  for (const auto& name : names) {
    auto session = is_result_file(name) ? read_one_session(name, as) : load_session(store, name);
    if (!session.ok()) return session.error();
    sessions.push_back(std::move(*session));
  }
  std::stable_sort(sessions.begin(), sessions.end(),
                   [](const Session& a, const Session& b) { return a.started < b.started; });
  std::set<std::string> ids;
  for (const auto& session : sessions) {
    if (!ids.insert(session.id).second) {
      return usage_error("session " + session.id + " is given twice", "what is measured once counts once");
    }
    if (session.commit != sessions.front().commit || session.dirty != sessions.front().dirty) {
      return usage_error("the runs are not of one commit: " + sessions.front().id + " and " + session.id,
                         "check one commit at a time");
    }
    if (session.machine.fingerprint != sessions.front().machine.fingerprint) {
      return environment_error("the runs are not of one machine: " + sessions.front().id + " and " + session.id,
                               "check the results of one machine at a time");
    }
  }
  return sessions;
}

Result<std::vector<Session>> measured_sessions(Context& context, const ParsedOptions& options,
                                               const CheckRequest& request, store::Store& store) {
  if (options.has("--run") || options.has("--results")) {
    return usage_error("give results or a command, not both", "leave out --run and --results");
  }
  std::vector<Session> sessions;
  for (std::int64_t i = 0; i < request.sessions; ++i) {
    WM_ASSIGN(auto session, measure_command(context, options, options.has("--no-store") ? nullptr : &store));
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

Status show_check(Context& context, const ParsedOptions& options, const CheckRequest& request, const Check& check) {
  auto shown = shown_as([&] { return to_json(check); }, report::build_report(check));
  shown.forms.push_back({"github", [&] { return report::render_github_comment(check); }});
  shown.forms.push_back({"junit", [&] { return report::render_junit(check); }});
  WM_TRY(show(context, shown, request.format));
  context.out.flush();
  context.why = report::verdict_counts(check) + " against " + check.branch;
  if (request.format == "github") {
    WM_TRY(annotate_step(context, report::github_annotations(check), report::render_github_comment(check)));
  }
  return write_check_files(options, check, shown);
}

/// `check --results NEW.json --baseline OLD.json`: no history, no test.
Result<int> check_files(Context& context, const ParsedOptions& options, const CheckRequest& request) {
  const std::string file = options.get("--results", options.get("--run"));
  if (file.empty() || !is_result_file(file)) {
    return usage_error("with a file as --baseline, --results names the file to check",
                       "warpmark check --results new.json --baseline " + options.get("--baseline"));
  }
  WM_ASSIGN(const auto as, read_as(options));
  WM_ASSIGN(const auto baseline, read_one_session(options.get("--baseline"), as));
  WM_ASSIGN(const auto now, read_one_session(file, as));
  WM_ASSIGN(auto check, validate::check_point_values(baseline, now,
                                                     {.name = options.get("--baseline"),
                                                      .metrics = request.check.metrics,
                                                      .threshold = request.check.threshold}));
  check.command = command_line_of(context);
  WM_TRY(show_check(context, options, request, check));
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
Status name_suspects(Context& context, const ParsedOptions& options, Check& check) {
  check.suspects = suspects_of(check);
  if (!check.suspects || !options.has("--bisect")) return {};
  double budget_s = 0;
  if (options.has("--bisect-budget")) {
    WM_ASSIGN(budget_s, parse_duration_s(options.get("--bisect-budget")));
  }
  WM_ASSIGN(auto spec, searched_command(context, options));
  return search_among(*check.suspects, context, options, std::move(spec), check.threshold, budget_s);
}

Result<int> run_check(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto request, check_request_of(options));
  const bool measures = asks_for_command(context, options);
  if (!measures && !options.positionals().empty()) {
    return usage_error("unexpected: " + options.positionals().front(), "a command stands after --");
  }
  if (!measures && !options.has("--bisect")) WM_TRY(check_no_command_options(options));
  if (options.has("--bisect-budget") && !options.has("--bisect")) {
    return usage_error("--bisect-budget is the time for --bisect, which is not given", "give both");
  }
  WM_TRY(check_outputs(options));
  WM_TRY(check_eval_gate(context, options));
  if (!measures && is_result_file(options.get("--baseline"))) return check_files(context, options, request);
  WM_ASSIGN(const auto store, measures ? open_store(context, options) : open_to_read(context, options));
  auto sessions =
      measures ? measured_sessions(context, options, request, *store) : named_sessions(context, *store, options);
  if (!sessions.ok()) {
    if (context.interrupted) return kInterrupted;
    return sessions.error();
  }
  request.check.ancestors = ancestry_of(sessions->front().commit);
  WM_ASSIGN(auto check, validate::check_against_history(*store, *sessions, request.check));
  check.command = command_line_of(context);
  // The verdict stands whatever becomes of the search.
  if (const auto named = name_suspects(context, options, check); !named.ok()) {
    if (context.interrupted) return kInterrupted;
    context.err << "warpmark: the search for the commit failed: " << named.error().what << '\n';
    if (!named.error().hint.empty()) context.err << "  " << named.error().hint << '\n';
  }
  WM_TRY(show_check(context, options, request, check));
  if (!options.has("--no-store")) {
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
