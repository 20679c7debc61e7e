#include "warpmark/sessions/suite_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "store/location.h"

namespace warpmark::apps {
namespace {

/// Verbs that measure and store runs; those of the second kind have actions, one of which does.
constexpr std::string_view kVerbs[] = {"collective", "links", "scale", "run"};
constexpr std::pair<std::string_view, std::string_view> kActions[] = {
    {"load", "run"}, {"eval", "run"}, {"eval", "score"}, {"net", "client"}};
constexpr double kLongest_s = 24 * 3600;

bool measures(const std::vector<std::string>& words) {
  if (std::find(std::begin(kVerbs), std::end(kVerbs), words.front()) != std::end(kVerbs)) return true;
  return words.size() > 1 && std::any_of(std::begin(kActions), std::end(kActions), [&](const auto& action) {
           return words[0] == action.first && words[1] == action.second;
         });
}

/// "collective", "load run".
std::string name_of(const std::vector<std::string>& words) {
  const bool action = std::find(std::begin(kVerbs), std::end(kVerbs), words.front()) == std::end(kVerbs);
  return action ? words[0] + " " + words[1] : words[0];
}

/// What the program said last that is no progress and no hint.
std::string reason_of(const ProcessOutput& output) {
  std::string reason;
  for (const auto& line : split(output.err, '\n')) {
    if (line.starts_with("warpmark: ")) reason = line.substr(std::string_view("warpmark: ").size());
  }
  return reason.empty() ? fmt::format("it ended with exit code {}", output.exit_code) : reason;
}

Run without_results(const workloads::SuiteCommand& command, const ProcessOutput& output) {
  Run run;
  run.workload = name_of(command.words);
  run.outcome = output.exit_code == kEnvironment ? Outcome::unsupported : Outcome::error;
  if (run.outcome == Outcome::error) run.fault = ErrorKind::usage;
  run.reason = reason_of(output);
  return run;
}

Result<std::vector<Run>> stored_runs(const std::filesystem::path& database) {
  std::vector<Run> runs;
  std::error_code none;
  if (!std::filesystem::exists(database, none)) return runs;
  WM_ASSIGN(const auto store, store::open_store(database.string()));
  WM_ASSIGN(auto sessions, store->sessions({.limit = 1000}));
  std::reverse(sessions.begin(), sessions.end());
  for (const auto& entry : sessions) {
    WM_ASSIGN(auto stored, store->load(entry.id));
    std::move(stored.session.runs.begin(), stored.session.runs.end(), std::back_inserter(runs));
  }
  return runs;
}

}  // namespace

Status check_suite_commands(std::span<const workloads::SuiteCommand> commands) {
  for (const auto& command : commands) {
    const auto dashes = std::find(command.words.begin(), command.words.end(), "--");
    for (const char* ours : {"--suite", "--db", "--no-store"}) {
      if (std::find(command.words.begin(), dashes, ours) == dashes) continue;
      return usage_error(fmt::format("line {} of the suite: {} is not for its commands", command.line, ours),
                         "leave it out: results go where those of the suite go");
    }
    if (measures(command.words)) continue;
    return usage_error(fmt::format("line {} of the suite: '{}' measures nothing that a suite can keep", command.line,
                                   command_line(command.words)),
                       "collective, links, scale, run, load run, eval run, eval score, net client");
  }
  return {};
}

std::int64_t command_of(const Run& run, std::int64_t first_index) {
  return run.index < first_index ? -1 : (run.index - first_index) / kRunsOfCommand;
}

Result<std::vector<Run>> run_suite_command(Context& context, const workloads::SuiteCommand& command,
                                           const std::string& session_id, std::int64_t first_index) {
  WM_ASSIGN(const auto scratch, ScratchFolder::make("suite"));
  WM_ASSIGN(const auto executable, own_executable());
  const auto database = scratch.path() / "results.db";
  std::vector<std::string> words{executable.string()};
  const auto dashes = std::find(command.words.begin(), command.words.end(), "--");
  words.insert(words.end(), command.words.begin(), dashes);
  words.insert(words.end(), {"--db", database.string()});
  words.insert(words.end(), dashes, command.words.end());
  context.err << "warpmark " << command_line(command.words) << '\n';
  ProcessOptions process{.deadline_s = kLongest_s, .environment = {}};
  process.interrupted = &context.interrupted;
  process.grace_s = 5;
  WM_ASSIGN(const auto output, run_process(words, process));
  WM_ASSIGN(auto runs, stored_runs(database));
  if (runs.empty()) runs.push_back(without_results(command, output));
  if (static_cast<std::int64_t>(runs.size()) > kRunsOfCommand) {
    return unsupported_error(
        fmt::format("line {} of the suite gave {} results, more than {}", command.line, runs.size(), kRunsOfCommand));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].index = first_index + static_cast<std::int64_t>(i);
    runs[i].id = fmt::format("{}.{}", session_id, runs[i].index);
    runs[i].repro = "warpmark " + command_line(command.words);
  }
  return runs;
}

}  // namespace warpmark::apps
