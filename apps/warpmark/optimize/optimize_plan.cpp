#include "warpmark/optimize/optimize_plan.h"

#include <fmt/format.h>

#include <ostream>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "optimize/plan.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

/// What stands in the program's own files is its owner's to change; a patch can be seen to be there.
Status check_files(const optimize::Plan& plan) {
  for (const auto& knob : plan.user_knobs) {
    if (knob.place == optimize::UserKnobPlace::file) {
      const auto value = optimize::value_of(plan.settings, knob.name);
      WM_ASSIGN(const auto text, read_file(knob.target));
      WM_ASSIGN(const auto with, optimize::with_value(text, knob.pattern, value));
      if (with == text) continue;
      return usage_error(fmt::format("the plan sets {} in the file {} to {}", knob.name, knob.target, value),
                         "set it there yourself: " + knob.pattern);
    }
    if (knob.place != optimize::UserKnobPlace::patch) continue;
    WM_ASSIGN(const auto taken_back,
              run_process({"patch", "-p1", "--force", "--fuzz=0", "--dry-run", "--reverse", "-i", knob.target},
                          {.deadline_s = 60}));
    if (taken_back.exit_code == 0) continue;
    return usage_error("the plan has the patch " + knob.target + ", which the files here do not have",
                       "put it on first: patch -p1 -i " + knob.target);
  }
  return {};
}

/// Waits that take less of a program's time are not why it is slow.
constexpr double kLeastShare = 0.05;

const char* words_of_wait(std::string_view kind) {
  if (kind == "sleep") return "sleeps";
  if (kind == "lock") return "waits for a lock or another thread";
  if (kind == "disk") return "waits for the disk";
  if (kind == "process") return "waits for another process or a pipe";
  if (kind == "network") return "waits for the network";
  if (kind == "event") return "waits for the network, a pipe or a timer";
  return "waits";
}

/// Where a program whose steps are not known spends its time on the host; empty where they are.
Json host_json(const optimize::FirstProbe& probe) {
  if (probe.run.time_of != optimize::TimeOf::run || !(probe.first.wall_s > 0)) return {};
  const auto& report = probe.facts.report;
  Json host{{"seconds", probe.first.wall_s},
            {"cpu_seconds", probe.first.cpu_s},
            {"processors_used", probe.first.cpu_s / probe.first.wall_s},
            {"waits", Json::array()}};
  for (const auto& wait : report.host_waits) {
    if (wait.seconds < kLeastShare * probe.first.wall_s) continue;
    host["waits"].push_back({{"kind", wait.kind},
                             {"file", wait.file},
                             {"line", wait.line},
                             {"function", wait.function},
                             {"seconds", wait.seconds},
                             {"share", wait.seconds / probe.first.wall_s}});
  }
  return host;
}

std::string host_text(const Json& host) {
  const double seconds = host["seconds"].get<double>(), used = host["processors_used"].get<double>();
  std::string text =
      fmt::format("The program took {} and used {:.0f} % of one processor.", format_seconds(seconds), 100 * used);
  for (const auto& wait : host["waits"]) {
    text += fmt::format(" It {} {:.0f} % of the time in {}:{} ({}).", words_of_wait(wait["kind"].get<std::string>()),
                        100 * wait["share"].get<double>(), wait["file"].get<std::string>(),
                        wait["line"].get<std::int64_t>(), wait["function"].get<std::string>());
  }
  if (host["waits"].empty() && used < 0.5) {
    text +=
        " It waits most of the time: for a timer, files, the network or other processes; strace -cw -f -- COMMAND "
        "shows for what.";
  }
  if (host["waits"].empty() && used >= 0.5) text += " It computes: py-spy record (Python) or perf record shows where.";
  return text;
}

Report offers_report(const OptimizeRequest& request, const optimize::FirstProbe& probe) {
  const auto& report = probe.facts.report;
  Report shown{.title = "Knobs for " + join(request.program.words, " "), .subtitle = probe.note, .sections = {}};
  if (shown.subtitle.empty()) {
    shown.subtitle = fmt::format("torch {}, {}, {} per step", report.torch, probe.facts.on_gpu() ? "GPU" : "CPU",
                                 format_seconds(probe.facts.seconds_per_step));
  }
  Table could{{{"knob"}, {"values"}, {"predicted", Align::right}, {"answers", Align::left, 1}, {"by", Align::left, 2}},
              {}};
  Table not_now{{{"knob"}, {"why not"}}, {}};
  for (const auto& row : optimize::offers(probe.facts, request.options.proposals)) {
    if (row.offer.candidates.empty()) {
      not_now.rows.push_back({{row.id}, {row.offer.why_not, Tone::quiet}});
      continue;
    }
    std::vector<std::string> values;
    for (const auto& candidate : row.offer.candidates) values.push_back(candidate.value);
    const auto& predicted = row.offer.candidates.front().predicted;
    could.rows.push_back({{row.id},
                          {join(values, ", ")},
                          {fmt::format("{:.2f}x-{:.2f}x", predicted.low, predicted.high)},
                          {row.numerics, Tone::quiet},
                          {predicted.method, Tone::quiet}});
  }
  if (const auto host = host_json(probe); !host.is_null()) {
    shown.sections.push_back({.heading = "Time on the host", .blocks = {Paragraph{host_text(host)}}});
  }
  if (!could.rows.empty()) shown.sections.push_back({.heading = "Worth trying here", .blocks = {could}});
  shown.sections.push_back({.heading = "Not here", .blocks = {not_now}});
  return shown;
}

Json offers_json(const OptimizeRequest& request, const optimize::FirstProbe& probe) {
  Json json{{"schema", "warpmark.knobs/1"}, {"torch", probe.facts.report.torch}, {"knobs", Json::array()}};
  for (const auto& row : optimize::offers(probe.facts, request.options.proposals)) {
    Json knob{{"id", row.id},
              {"title", row.title},
              {"answers", row.numerics},
              {"breaks", row.breaks},
              {"values", Json::array()}};
    for (const auto& candidate : row.offer.candidates) {
      knob["values"].push_back({{"value", candidate.value},
                                {"low", candidate.predicted.low},
                                {"high", candidate.predicted.high},
                                {"method", candidate.predicted.method}});
    }
    if (row.offer.candidates.empty()) knob["why_not"] = row.offer.why_not;
    json["knobs"].push_back(std::move(knob));
  }
  if (auto host = host_json(probe); !host.is_null()) json["host"] = std::move(host);
  return json;
}

}  // namespace

Result<int> apply_plan(Context& context, const ParsedOptions& options, const OptimizeRequest& request) {
  WM_ASSIGN(const auto plan, load_plan(request.applied));
  WM_TRY(check_files(plan));
  const auto given = command_after_dashes(context.words);
  if (given.empty())
    return usage_error("there is no program to run", "warpmark optimize --apply plan.yaml -- python train.py");
  WM_ASSIGN(auto words, words_of(options, given));
  WM_ASSIGN(const auto hook, hook_folder(context, options));
  optimize::Program program{
      .words = std::move(words), .directory = {}, .environment = {}, .user_knobs = plan.user_knobs};
  WM_ASSIGN(auto command, optimize::command_with(program, plan.settings));
  command.plan.measure = false;
  const auto text = workers::plan_text(command.plan);
  const auto file = hook.parent_path() / ("apply-" + hash_of(text) + ".json");
  WM_TRY(write_file(file, text));
  auto variables = command.environment;
  // No report: the folder is not there. What was measured is measured; this run is the program's.
  for (auto& variable : workers::hook_variables(hook, file, hook / "no-report", context.environment("PYTHONPATH"))) {
    variables.push_back(std::move(variable));
  }
  context.out.flush();
  return replace_process(std::move(command.words), variables);
}

Result<Optimization> prove_optimization(optimize::ProgramRuns& runs, const OptimizeRequest& request) {
  WM_ASSIGN(const auto plan, load_plan(request.proven));
  if (plan.settings.empty()) return usage_error("the plan " + request.proven + " has no settings");
  return optimize::prove_plan(runs, plan.settings, request.options);
}

Result<int> list_knobs(Context& context, const ParsedOptions& options, OptimizeRequest& request) {
  const auto journal_path = request.places.scratch.string() + ".list.jsonl";
  WM_ASSIGN(auto journal, optimize::TrialJournal::open(journal_path, request.identity, true));
  request.program.environment.emplace_back("WARPMARK_HOOK_HOST", "1");
  optimize::ProgramRuns runs(request.program, request.places, journal, &context.interrupted);
  request.options.in_process = false;  // a look, and nothing is tested
  auto probe = optimize::inspect(runs, request.options);
  std::error_code ignored;
  std::filesystem::remove(journal_path, ignored);
  std::filesystem::remove_all(request.places.scratch, ignored);
  if (!probe.ok()) {
    if (context.interrupted) return kInterrupted;
    return probe.error();
  }
  const auto shown = shown_as([&] { return offers_json(request, *probe); }, offers_report(request, *probe));
  WM_TRY(show(context, shown, request.format));
  WM_TRY(write_report(options, "knobs", shown));
  return kSuccess;
}

}  // namespace warpmark::apps
