#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <ranges>

#include "base/text.h"
#include "device/device.h"
#include "model/names.h"
#include "model/run_query.h"
#include "report/formats/render.h"
#include "session/new_session.h"
#include "session/run_session.h"
#include "warpmark/sessions/goals.h"
#include "warpmark/sessions/run_command.h"
#include "warpmark/sessions/run_request.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/sessions/suite_commands.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/progress.h"
#include "warpmark/terminal/report_output.h"
#include "workloads/catalog.h"
#include "workloads/plan.h"
#include "workloads/plugin.h"

namespace warpmark::apps {
namespace {

/// Everything the session needs, ready to measure.
struct Job {
  RunRequest request;
  std::vector<workloads::Plugin> plugins;  ///< own the workloads that the plan points to
  std::vector<workloads::PlannedCase> plan;
  session::Devices devices;
  std::unique_ptr<store::Store> store;
  session::Known known;
  Session session;
  std::vector<Run> of_commands{};            ///< of the suite's commands, as far as they were measured before
  bool resumable = true;                     ///< by `warpmark run --resume`
  std::optional<store::RunningMark> mark{};  ///< for those who watch
};

Result<std::vector<workloads::PlannedCase>> plan_of(const RunRequest& request,
                                                    const std::vector<workloads::Plugin>& plugins,
                                                    const std::vector<DeviceInfo>& devices) {
  std::vector<const measure::Workload*> offered;
  for (const auto* workload : workloads::catalog()) offered.push_back(workload);
  for (const auto& plugin : plugins) {
    for (const auto* workload : plugin.workloads()) offered.push_back(workload);
  }
  WM_ASSIGN(auto plan, workloads::make_plan(offered, request.entries, devices));
  if (plan.empty() && request.commands.empty()) {
    return with_code(usage_error("nothing to measure: none of the selected workloads has a default case on this device",
                                 "`warpmark list workloads` shows parameters; give them with --set"),
                     ErrorCode::nothing_to_measure);
  }
  // Where no case makes sense there is nothing to wait for.
  const bool none_valid = !plan.empty() && std::all_of(plan.begin(), plan.end(), [](const auto& planned) {
    return planned.invalid && planned.invalid->kind != ErrorKind::unsupported;
  });
  if (none_valid) return *plan.front().invalid;
  if (request.ceilings) workloads::add_ceiling_cases(plan, offered, devices);
  return plan;
}

Status open_devices(Job& job) {
  for (const auto& planned : job.plan) {
    const auto& id = planned.what.device;
    if (job.devices.contains(id)) continue;
    WM_ASSIGN(job.devices[id], device::open_device(id));
  }
  return {};
}

/// Takes up an interrupted session. Its plan must be the one we make now, case by case.
Status take_up(Job& job, store::StoredSession stored) {
  const std::string fingerprint = job.session.machine.fingerprint;
  if (stored.session.machine.fingerprint != fingerprint) {
    return usage_error("session " + stored.session.id + " was measured on another machine",
                       "its numbers cannot be continued here; start a new session");
  }
  const auto first = static_cast<std::int64_t>(job.plan.size());
  const auto end = first + static_cast<std::int64_t>(job.request.commands.size()) * kRunsOfCommand;
  auto& runs_there = stored.session.runs;
  const auto commands = std::stable_partition(runs_there.begin(), runs_there.end(),
                                              [&](const Run& run) { return run.index < first || run.index >= end; });
  job.of_commands.assign(commands, runs_there.end());
  runs_there.erase(commands, runs_there.end());
  for (const auto* runs : {&stored.session.runs, &stored.unmerged_rounds}) {
    for (const Run& run : *runs) {
      const auto index = static_cast<std::size_t>(run.index);
      const bool same = index < job.plan.size() && job.plan[index].what.workload->id == run.workload &&
                        job.plan[index].what.device == run.device && job.plan[index].what.mode == run.mode &&
                        (job.plan[index].invalid || job.plan[index].what.params == run.params);
      if (!same) {
        return usage_error(fmt::format("case {} of session {} is not in today's plan: {} {}", run.index,
                                       stored.session.id, run.workload, to_text(run.params)),
                           "the suite, the devices or warpmark have changed; start a new session");
      }
    }
  }
  job.known = {std::move(stored.session.runs), std::move(stored.unmerged_rounds)};
  stored.session.runs.clear();
  job.session = std::move(stored.session);
  return {};
}

/// The options of the interrupted session, taken from its command line.
Result<ParsedOptions> options_of(const std::string& command) {
  const auto parsed = words_of_line(command);
  if (!parsed.ok() || parsed->size() < 2) return data_error("the stored command '" + command + "' cannot be read");
  const auto& words = *parsed;
  return parse_options(kRunOptions, kRunPositional, std::span(words).subspan(2));
}

/// What a session measures and how was said when it began; beside --resume only where results go can be said.
Status only_outputs_with_resume(const ParsedOptions& options) {
  constexpr std::string_view kOutputs[] = {"--resume", "--db", "--json", "--out", "--format", "--strict", "--goal"};
  for (const auto& option : kRunOptions) {
    const bool fits = std::find(std::begin(kOutputs), std::end(kOutputs), option.name) != std::end(kOutputs);
    if (fits || !options.has(option.name)) continue;
    return usage_error(std::string(option.name) + " cannot be changed in a session that has begun",
                       "leave it out, or start a new session without --resume");
  }
  if (options.positionals().empty()) return {};
  return usage_error("--resume continues what the session began: " + options.positionals().front() + " is too many",
                     "leave it out, or start a new session without --resume");
}

Result<Job> make_job(Context& context, const ParsedOptions& options) {
  Job job;
  WM_TRY(check_outputs(options));
  std::optional<store::StoredSession> stored;
  if (!options.has("--no-store")) {
    WM_ASSIGN(job.store, open_store(context, options));
  }
  ParsedOptions asked = options;
  if (options.has("--resume")) {
    if (job.store == nullptr) return usage_error("--resume needs the store", "leave out --no-store");
    WM_TRY(only_outputs_with_resume(options));
    WM_ASSIGN(stored, job.store->load(options.get("--resume")));
    if (stored->session.complete) {
      return usage_error("session " + stored->session.id + " is complete",
                         "see it with: warpmark report " + stored->session.id);
    }
    WM_ASSIGN(asked, options_of(stored->session.command));
  }
  WM_ASSIGN(job.request, run_request(asked));
  WM_TRY(check_suite_commands(job.request.commands));
  for (const auto& path : job.request.plugins) {
    set_crash_messages("", "warpmark: the plugin " + path + " crashed while it was loaded\n");
    WM_ASSIGN(auto plugin, workloads::load_plugin(path));
    job.plugins.push_back(std::move(plugin));
  }
  WM_ASSIGN(const auto devices, device::select_devices(job.request.device));
  WM_ASSIGN(job.plan, plan_of(job.request, job.plugins, devices));
  job.session = session::new_session(command_line_of(context));
  if (stored) {
    WM_TRY(take_up(job, std::move(*stored)));
  } else if (job.store != nullptr) {
    WM_TRY(job.store->begin(job.session));
  }
  WM_TRY(open_devices(job));
  if (auto mark = job.store == nullptr ? std::nullopt : running_mark(context, options, job.session)) {
    job.mark.emplace(std::move(*mark));
  }
  return job;
}

std::string resume_hint(const Job& job) {
  const bool resumable = job.store != nullptr && job.resumable;
  return resumable ? fmt::format("resume with: warpmark run --resume {}", job.session.id) : "";
}

void prepare_crash_messages(const Job& job, const std::string& current) {
  const std::string kept =
      job.store == nullptr ? "" : fmt::format("; finished results are kept: warpmark report {}", job.session.id);
  set_crash_messages(fmt::format("\nwarpmark: interrupted{}\n{}\n", kept, resume_hint(job)),
                     fmt::format("warpmark: {} crashed{}\n", current, kept));
}

/// Those that no interrupted session has measured; each is kept as soon as it ends.
Status run_commands(Context& context, Job& job) {
  const auto first = static_cast<std::int64_t>(job.plan.size());
  auto& runs = job.session.runs;
  runs.insert(runs.end(), job.of_commands.begin(), job.of_commands.end());
  for (std::size_t i = 0; i < job.request.commands.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    if (std::any_of(job.of_commands.begin(), job.of_commands.end(),
                    [&](const Run& run) { return command_of(run, first) == number; })) {
      continue;
    }
    auto measured =
        run_suite_command(context, job.request.commands[i], job.session.id, first + number * kRunsOfCommand);
    if (context.interrupted.load()) {
      job.session.complete = false;
      return {};
    }
    if (!measured.ok()) return measured.error();
    if (job.store != nullptr) WM_TRY(job.store->append_runs(job.session.id, *measured));
    std::move(measured->begin(), measured->end(), std::back_inserter(runs));
  }
  return {};
}

Status measure_all(Context& context, Job& job) {
  ProgressPrinter printer(context);
  session::SessionEvents events;
  events.progress = [&](const session::Progress& progress) {
    prepare_crash_messages(job, progress.current);
    if (job.mark) {
      job.mark->update(progress.current, static_cast<std::int64_t>(progress.slices_done),
                       static_cast<std::int64_t>(progress.slices), progress.left_s);
    }
    printer.show(progress);
  };
  if (job.store != nullptr) {
    events.round_done = [&](const Run& run, std::int64_t round) {
      return job.store->append_round(job.session.id, run, round);
    };
    events.run_done = [&](const Run& run) { return job.store->append_run(job.session.id, run); };
  }
  prepare_crash_messages(job, "the first measurement");
  job.request.session.interrupted = &context.interrupted;
  Status kept = session::run_session(job.plan, job.request.session, job.devices, job.known, events, job.session);
  job.mark.reset();
  printer.clear();
  set_crash_messages("\n", "");
  if (job.session.complete && kept.ok()) kept = run_commands(context, job);
  if (job.store != nullptr && job.session.complete && kept.ok()) {
    kept = job.store->finish(job.session.id, job.session.ceilings);
  }
  return kept;
}

/// Something that was asked for must have been measured: ceilings alone are no result.
SessionEnding ending_of_job(const Job& job, bool strict) {
  auto ending = ending_of(job.session, strict);
  if (ending.code != kSuccess) return ending;
  ending = {kEnvironment, "nothing was measured"};
  for (const Run& run : std::views::reverse(job.session.runs)) {
    const auto place = static_cast<std::size_t>(run.index);
    if (place < job.plan.size() && job.plan[place].for_ceiling) continue;
    if (is_measured(run.outcome)) return {};
    ending.why = problem_of(run);
  }
  return ending;
}

Result<int> run_run(Context& context, const ParsedOptions& options) {
  const std::string format = options.get("--format", "text");
  WM_TRY(check_session_format(format));
  if (asks_for_command(context, options)) return run_users_command(context, options, format);
  WM_TRY(without_command_options(options));
  WM_TRY(check_goals(options));
  WM_ASSIGN(Job job, make_job(context, options));
  const Status kept = measure_all(context, job);
  WM_TRY(show(context, report::shown_session(job.session), format));
  context.out.flush();
  if (!job.session.complete) context.err << "\nwarpmark: interrupted\n  " << resume_hint(job) << '\n';
  WM_TRY(write_session_files(options, job.session));
  if (!kept.ok()) {
    Error error = kept.error();
    error.what = "not everything was stored: " + error.what;
    return error;
  }
  if (job.store != nullptr && job.session.complete && format == "text") {
    context.err << stored_note(job.session.id);
  }
  return exit_with_goals(context, options, job.session, ending_of_job(job, options.has("--strict")));
}

}  // namespace

Result<Session> measure_request(Context& context, RunRequest request, std::unique_ptr<store::Store> store) {
  Job job;
  job.resumable = false;
  job.request = std::move(request);
  job.store = std::move(store);
  WM_ASSIGN(const auto devices, device::select_devices(job.request.device));
  WM_ASSIGN(job.plan, plan_of(job.request, job.plugins, devices));
  job.session = session::new_session(command_line_of(context));
  if (job.store != nullptr) WM_TRY(job.store->begin(job.session));
  WM_TRY(open_devices(job));
  WM_TRY(measure_all(context, job));
  return std::move(job.session);
}

extern const Command run_command{
    .id = "run",
    .summary = "benchmark this machine, some workloads, or your own command",
    .details =
        "Measures workloads, verifies their results against a reference in higher precision, and shows each as a "
        "percentage of the peak that was measured in the same session.\n"
        "\n"
        "Each case is measured in several rounds spread over the session, with new random inputs per round. A round "
        "warms up until times settle and continues until the 95 % confidence interval of the median is narrow enough. "
        "Results are stored as they finish.\n"
        "\n"
        "Without a name the quick suite runs. With names, the default cases of these workloads run; --set replaces a "
        "parameter in all of them, --sweep measures several values.\n"
        "\n"
        "A suite may also contain commands: collectives, loads, evaluations. Their results join the same report "
        "(docs/suites.md).\n"
        "\n"
        "A command after --, or of --project, is measured in fresh processes, one for each round. Its metrics "
        "(docs/validate.md) are stored with commit, branch and machine, for `warpmark check` and `warpmark trend`. "
        "--set and --sweep then fill {name} in the command, or set env.NAME.",
    .options = kRunOptions,
    .positional = kRunPositional,
    .examples =
        "warpmark run\n"
        "warpmark run gemm --set dtype=bf16 --sweep m=1024,2048,4096\n"
        "warpmark run 'c*' --device cpu --budget 60s --json out.json\n"
        "warpmark run --suite full --device cuda:0 --out results/\n"
        "warpmark run resnet50 --set pass=train --goal 'samples_rate>=2400'\n"
        "warpmark run -- ./bench --size 64\n"
        "warpmark run --project warpmark.yaml --sweep size=64,128 --rounds 20",
    .run = run_run,
};

}  // namespace warpmark::apps
