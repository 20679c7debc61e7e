#include "warpmark/scaling/scale_profiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/step_shares.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/read_session.h"
#include "warpmark/profiles/recorder.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

validate::ProfiledRun without_profile(int workers, std::string problem) {
  return {.workers = workers, .shares = {}, .problem = std::move(problem)};
}

std::string end_of(const profile::RecordOutcome& outcome, const fs::path& log) {
  if (outcome.timed_out) return "the recorded run did not end in time";
  return fmt::format("the recorded run ended with exit code {}: see {}", outcome.exit_code, log.string());
}

validate::ProfiledRun record_one(Context& context, const ScaleRequest& request, int workers,
                                 std::vector<std::string> words, const fs::path& folder) {
  const std::string name = std::to_string(workers);
  const fs::path log = folder / (name + ".log");
  profile::RecordOptions record;
  record.out = folder / (name + ".wmrec");
  // Its output would stand among ours.
  record.command = {"sh", "-c", "exec \"$@\" > \"$0\" 2>&1 < /dev/null", log.string()};
  record.command.insert(record.command.end(), words.begin(), words.end());
  record.deadline_s = request.timeout_s;
  record.interrupted = &context.interrupted;
  if (const Status found = find_recorder(context, record); !found.ok()) {
    return without_profile(workers, found.error().what + " (" + found.error().hint + ")");
  }
  if (!request.ranks && !request.remote) record.environment.emplace_back("CUDA_VISIBLE_DEVICES", first_gpus(workers));
  const auto outcome = profile::record_program(record);
  if (!outcome.ok()) return without_profile(workers, outcome.error().what);
  if (outcome->exit_code != 0) return without_profile(workers, end_of(*outcome, log));
  if (outcome->processes == 0) return without_profile(workers, "the program made no CUDA call on this host");
  return read_profile(workers, {record.out});
}

}  // namespace

Result<std::map<int, std::vector<fs::path>>> profiles_given(const std::vector<std::string>& texts,
                                                            const std::vector<int>& workers) {
  std::map<int, std::vector<fs::path>> given;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    const auto number = parse_integer(text.substr(0, equals));
    if (equals == std::string::npos || !number.ok()) {
      return usage_error("--profiled " + text + " is no number of workers with its profile",
                         "such as --profiled 2=rank0.json --profiled 2=rank1.json");
    }
    if (std::find(workers.begin(), workers.end(), *number) == workers.end()) {
      return usage_error(fmt::format("--profiled {}: {} workers are not measured", text, *number));
    }
    std::error_code ignored;
    fs::path path = text.substr(equals + 1);
    if (!fs::exists(path, ignored)) return usage_error(path.string() + " does not exist");
    given[static_cast<int>(*number)].push_back(std::move(path));
  }
  return given;
}

validate::ProfiledRun read_profile(int workers, const std::vector<fs::path>& files) {
  const auto session = profile::read_session(files);
  if (!session.ok()) return without_profile(workers, session.error().what);
  const auto shares = analyze::step_shares(*session);
  if (!shares.ok()) return without_profile(workers, shares.error().what);
  validate::ProfiledRun run{.workers = workers, .shares = *shares, .problem = {}};
  if (shares->ranks != workers) {
    run.problem = fmt::format("{} rank{} recorded of {}: the others are unknown", shares->ranks,
                              shares->ranks == 1 ? " was" : "s were", workers);
  }
  return run;
}

Result<std::vector<validate::ProfiledRun>> record_profiles(Context& context, const ScaleRequest& request,
                                                           const collectives::LaunchPlace& place,
                                                           const fs::path& folder) {
  WM_TRY(make_folder(folder, "name a folder that you can write with --record"));
  std::vector<validate::ProfiledRun> runs;
  for (const int workers : request.workers) {
    if (context.interrupted) break;
    if (context.err_is_terminal) context.err << fmt::format("\r\x1b[Krecording with {}", workers) << std::flush;
    WM_ASSIGN(auto words, words_for(request, workers, place));
    runs.push_back(record_one(context, request, workers, std::move(words), folder));
  }
  if (context.err_is_terminal) context.err << "\r\x1b[K";
  return runs;
}

}  // namespace warpmark::apps
