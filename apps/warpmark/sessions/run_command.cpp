#include "warpmark/sessions/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "base/units.h"
#include "model/names.h"
#include "model/run_query.h"
#include "report/draw/format.h"
#include "report/results/stages.h"
#include "session/new_session.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/command_runs.h"
#include "validate/commands/frameworks.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/ab/reference.h"
#include "warpmark/sessions/goals.h"
#include "warpmark/sessions/run_request.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/progress.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

using validate::CommandCase;
using validate::CommandSpec;

struct RunCommandRequest {
  CommandSpec spec;
  std::vector<CommandCase> cases;
  validate::CommandRunOptions runs;
};

/// The words after `--`; empty if the project says what to run.
Result<std::vector<std::string>> given_words(const Context& context, const ParsedOptions& options) {
  const auto command = command_after_dashes(context.words);
  if (options.positionals().size() > command.size()) {
    return usage_error("give workloads or a command, not both: " + options.positionals().front());
  }
  if (command.empty() && !options.has("--project")) {
    return usage_error("there is no command after --", "such as: warpmark run -- ./program --size 3");
  }
  if (command.empty()) return std::vector<std::string>();
  return words_of(options, command);
}

Result<CommandSpec> spec_of(const Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto words, given_words(context, options));
  CommandSpec spec = validate::timed_command(words);
  if (options.has("--project")) {
    WM_ASSIGN(spec, validate::load_command_spec(options.get("--project")));
    if (!words.empty()) spec.run = std::move(words);
  }
  if (options.has("--timeout")) {
    WM_ASSIGN(spec.timeout_s, parse_duration_s(options.get("--timeout")));
    if (!(spec.timeout_s > 0)) return usage_error("--timeout must be above 0");
  }
  return spec;
}

/// Every combination of the sweeps, after what is set in all of them.
std::vector<measure::Config> configs_of(const workloads::SuiteEntry& overrides) {
  std::vector<measure::Config> configs{overrides.set};
  for (const auto& [name, values] : overrides.sweep) {
    std::vector<measure::Config> more;
    for (const auto& config : configs) {
      for (const auto& value : values) {
        more.push_back(config);
        more.back().emplace_back(name, value);
      }
    }
    configs = std::move(more);
  }
  return configs;
}

/// The project's sizes, of settings that the command line leaves open.
void add_sizes(const CommandSpec& spec, workloads::SuiteEntry& overrides) {
  const auto said = [](const auto& list, const std::string& name) {
    return std::any_of(list.begin(), list.end(), [&](const auto& item) { return item.first == name; });
  };
  for (const auto& [name, values] : spec.sizes) {
    if (!said(overrides.set, name) && !said(overrides.sweep, name)) overrides.sweep.emplace_back(name, values);
  }
}

/// A series is named by the command with its settings; by --name where the command's text may change.
Result<CommandCase> case_of(const CommandSpec& spec, const measure::Config& config, const std::string& name) {
  WM_ASSIGN(const auto filled, validate::configured(spec, config));
  CommandCase made{.config = config, .params = {}};
  if (name.empty()) {
    made.params.set("command", command_line(filled.run));
  } else {
    made.params.set("name", name);
  }
  for (const auto& [key, value] : config) made.params.set(key, value);
  return made;
}

Result<RunCommandRequest> run_command_request_of(const Context& context, const ParsedOptions& options) {
  if (const auto name = options.first_in("workloads"); !name.empty()) {
    return usage_error(name + " is for workloads, not for a command");
  }
  if (options.has("--reference") && options.has("--no-reference")) {
    return usage_error("give --reference or --no-reference, not both");
  }
  RunCommandRequest request;
  WM_ASSIGN(request.spec, spec_of(context, options));
  WM_ASSIGN(auto overrides, overrides_of(options));
  add_sizes(request.spec, overrides);
  for (const auto& config : configs_of(overrides)) {
    WM_ASSIGN(auto made, case_of(request.spec, config, options.get("--name")));
    request.cases.push_back(std::move(made));
  }
  WM_ASSIGN(request.runs.rounds, count_of(options, "--rounds", 10, 1, 10'000));
  WM_ASSIGN(request.runs.warmup_runs, count_of(options, "--warmup", 1, 0, 1000));
  WM_ASSIGN(const auto seed, count_of(options, "--seed", 1, 0, INT64_MAX));
  request.runs.seed = static_cast<std::uint64_t>(seed);
  if (options.has("--budget")) {
    WM_ASSIGN(request.runs.budget_s, parse_duration_s(options.get("--budget")));
  }
  request.runs.interrupted = &context.interrupted;
  return request;
}

validate::CommandRunEvents events_of(StepBar& bar, const Session& session, store::Store* store,
                                     store::RunningMark* mark) {
  validate::CommandRunEvents events;
  events.progress = [&bar, mark](std::int64_t done, std::int64_t of) {
    const auto round = fmt::format("round {} of {}", done + 1, of);
    if (mark != nullptr) mark->update(round, done, of, 0);
    bar.update(done, of, round);
  };
  if (store == nullptr) return events;
  events.round_done = [&session, store](const Run& run, std::int64_t round) {
    return store->append_round(session.id, run, round);
  };
  events.run_done = [&session, store](const Run& run) { return store->append_run(session.id, run); };
  return events;
}

/// "stage tokenize takes 1.2 s, limit 1.0 s", of all that miss their limit.
std::string missed_limits(const Session& session) {
  std::string text;
  for (const auto& run : report::stages_of(session)) {
    const auto add = [&](const Stage& stage, const std::string& name) {
      if (stage.limit != LimitState::missed) return;
      text += fmt::format("{}{} takes {}, limit {}", text.empty() ? "" : "; ", name,
                          report::format_quantity(stage.seconds, "s"), report::format_quantity(stage.limit_s, "s"));
    };
    add(run.all, "the command");
    for (const auto& stage : run.stages) add(stage, "stage " + stage.name);
  }
  return text;
}

/// The revision to measure beside the command, prepared: of --reference, else of the project. Empty for none.
Result<std::unique_ptr<Reference>> reference_of(const Context& context, const ParsedOptions& options,
                                                const CommandSpec& spec) {
  if (options.has("--no-reference")) return std::unique_ptr<Reference>();
  if (options.has("--reference")) return Reference::prepare(context, options, spec, options.get("--reference"));
  if (spec.reference.empty()) return std::unique_ptr<Reference>();
  auto prepared = Reference::prepare(context, options, spec, spec.reference);
  if (prepared.ok()) return prepared;
  return Error{prepared.error().kind, options.get("--project") + ", reference: " + prepared.error().what,
               prepared.error().hint};
}

}  // namespace

SessionEnding ending_of(const Session& session, bool strict) {
  SessionEnding ending;
  const auto ends = [&](int code, auto holds) {
    const auto run = std::ranges::find_if(session.runs, holds);
    if (run == session.runs.end()) return false;
    ending = {code, problem_of(*run)};
    return true;
  };
  const auto is_error = [](const Run& run) { return run.outcome == Outcome::error; };
  if (ends(kGateFailed, [](const Run& run) { return run.outcome == Outcome::failed; })) return ending;
  if (!session.complete) return {kInterrupted, {}};
  if (ends(kUsage, [&](const Run& run) { return is_error(run) && run.fault != ErrorKind::environment; }) ||
      ends(kEnvironment, is_error) ||
      ends(kEnvironment, [&](const Run& run) { return strict && run.outcome == Outcome::unreliable; })) {
    return ending;
  }
  if (report::misses_limit(session)) return {kGateFailed, missed_limits(session)};
  return {};
}

std::string problem_of(const Run& run) {
  return (run.workload == "command" ? "" : run.workload + ": ") +
         (run.reason.empty() ? name_of(run.outcome) : run.reason);
}

Result<int> exit_with_goals(Context& context, const ParsedOptions& options, const Session& session,
                            SessionEnding ending) {
  WM_ASSIGN(const bool met, meets_goals(context, options, session.runs));
  if (ending.code == kSuccess && !met) ending = {kGateFailed, "a --goal is missed"};
  return exit_because(context, ending.code, std::move(ending.why));
}

bool asks_for_command(const Context& context, const ParsedOptions& options) {
  return options.has("--project") || std::find(context.words.begin(), context.words.end(), "--") != context.words.end();
}

Status without_command_options(const ParsedOptions& options) {
  const auto name = options.first_in("commands");
  return name.empty() ? Status()
                      : usage_error(name + " is for commands, and none is given",
                                    "warpmark run [OPTIONS] -- COMMAND, or --project FILE");
}

Result<CommandSpec> command_spec_of(const Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto spec, spec_of(context, options));
  WM_ASSIGN(const auto overrides, overrides_of(options));
  const auto configs = configs_of(overrides);
  if (configs.size() != 1) return usage_error("--sweep makes several commands of it", "name one by --set");
  return validate::configured(spec, configs.front());
}

Result<Session> measure_command(Context& context, const ParsedOptions& options, store::Store* store) {
  WM_ASSIGN(const RunCommandRequest request, run_command_request_of(context, options));
  WM_TRY(validate::build(request.spec, "", &context.interrupted));
  WM_ASSIGN(const auto reference, reference_of(context, options, request.spec));
  Session session = session::new_session(command_line_of(context));
  for (auto& version : validate::framework_versions(request.spec.run)) {
    session.machine.software.push_back(std::move(version));
  }
  if (store != nullptr) WM_TRY(store->begin(session));
  auto mark = store == nullptr ? std::nullopt : running_mark(context, options, session);
  set_crash_messages("\nwarpmark: interrupted; finished rounds are kept\n", "");
  validate::CommandExperiment subject(request.spec, {.directory = "", .interrupted = &context.interrupted});
  validate::CommandExperiment auxiliary(request.spec, {.directory = reference ? reference->directory() : "",
                                                       .interrupted = &context.interrupted,
                                                       .watch_environment = false});
  const std::string name = reference ? validate::reference_name(reference->commit()) : "";
  validate::ReferenceExperiment pairs(subject, auxiliary, name, request.runs.seed);
  measure::Experiment& experiment = reference ? static_cast<measure::Experiment&>(pairs) : subject;
  StepBar bar(context, request.runs.budget_s);
  const Status measured = validate::measure_command_runs(
      experiment, request.cases, request.runs, events_of(bar, session, store, mark ? &*mark : nullptr), session);
  bar.clear();
  set_crash_messages("\n", "");
  WM_TRY(measured);
  if (store != nullptr && session.complete) WM_TRY(store->finish(session.id, {}));
  return session;
}

Result<int> run_users_command(Context& context, const ParsedOptions& options, const std::string& format) {
  WM_TRY(check_outputs(options));
  WM_TRY(check_goals(options));
  std::unique_ptr<store::Store> store;
  if (!options.has("--no-store")) {
    WM_ASSIGN(store, open_store(context, options));
  }
  auto measured = measure_command(context, options, store.get());
  if (!measured.ok()) {
    if (context.interrupted) return kInterrupted;
    return measured.error();
  }
  const Session& session = *measured;
  WM_TRY(show(context, report::shown_session(session), format));
  context.out.flush();
  if (!session.complete) context.err << "\nwarpmark: interrupted\n";
  WM_TRY(write_session_files(options, session));
  if (store != nullptr && session.complete && format == "text") {
    context.err << stored_note(session.id);
  }
  return exit_with_goals(context, options, session, ending_of(session, options.has("--strict")));
}

}  // namespace warpmark::apps
