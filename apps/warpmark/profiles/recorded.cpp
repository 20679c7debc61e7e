#include "warpmark/profiles/recorded.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ostream>
#include <vector>

#include "profile/recording/format.h"

namespace warpmark::apps {
namespace {

std::string cost_text(const Timeline& timeline) {
  if (fact(timeline, "inflation").empty()) return "its own cost could not be measured";
  const auto percent = [&](const char* key) { return std::strtod(fact(timeline, key).c_str(), nullptr) * 100; };
  const double low = percent("inflation_low"), high = percent("inflation_high");
  if (low <= 0 && high > 100) return "the program's speed varied too much to measure how much recording slowed it down";
  return fmt::format("the program ran {:.1f} % slower while recorded ({:.1f} to {:.1f} %)", percent("inflation"), low,
                     high);
}

bool is_of_recorder(const DataQualityIssue& issue) { return issue.id.starts_with(profile::recording::kRecorderIssue); }

/// Of processes without any record beside one that has them. Helpers (compilers, loaders) only initialize CUDA.
void warn_of_idle_processes(Context& context, const std::vector<DataQualityIssue>& issues) {
  for (const auto& issue : issues) {
    const bool helper = is_problem(issue.id, profile::recording::kNoWork);
    if (is_of_recorder(issue) && !helper) context.err << "warpmark: another process: " << issue.example << '\n';
  }
}

}  // namespace

bool is_problem(std::string_view issue_id, const char* problem) {
  return issue_id == std::string(profile::recording::kRecorderIssue) + "_" + problem;
}

Recorded summarize(Context& context, const profile::RecordOutcome& outcome, const ProfileSession& session) {
  Recorded recorded;
  const auto inspect = [&](const std::vector<DataQualityIssue>& issues) {
    for (const auto& issue : issues) {
      if (!is_of_recorder(issue) || !recorded.problem.empty()) continue;
      recorded.problem = issue.example;
      recorded.problem_id = issue.id;
    }
  };
  for (const auto& timeline : session.ranks) {
    recorded.gpu_work = recorded.gpu_work || gpu_works(timeline) > 0;
    const auto id = fact(timeline, "process");
    context.err << fmt::format("warpmark: {}: {} events, {} on the GPU; {}\n",
                               id.empty() ? "recorded" : "process " + std::string(id), timeline.events.size(),
                               gpu_works(timeline), cost_text(timeline));
    inspect(timeline.quality);
  }
  if (!recorded.gpu_work) {
    inspect(session.quality);
  } else {
    warn_of_idle_processes(context, session.quality);
  }
  for (const auto id : outcome.still_running) {
    context.err << fmt::format("warpmark: process {} outlives the command: what it did later is not recorded\n", id);
  }
  if (!outcome.stacks_problem.empty()) context.err << "warpmark: no lines of code: " << outcome.stacks_problem << '\n';
  if (!outcome.gpu_problem.empty()) context.err << "warpmark: no GPU counters: " << outcome.gpu_problem << '\n';
  return recorded;
}

std::optional<Error> failed_program(const profile::RecordOutcome& outcome) {
  if (outcome.exit_code == 0 || outcome.timed_out || outcome.interrupted || outcome.stopped) return std::nullopt;
  return data_error(fmt::format("the program ended with exit code {}, and nothing was recorded", outcome.exit_code),
                    "it must run without warpmark before it can be recorded");
}

Error nothing_recorded(const profile::RecordOutcome& outcome, const Recorded& recorded, bool whole_graphs) {
  const auto& problem = recorded.problem;
  if (outcome.processes == 0) {
    if (auto failed = failed_program(outcome)) return *failed;
    return environment_error("the program made no CUDA call",
                             "is there an NVIDIA driver (nvidia-smi), and does the program use the GPU?");
  }
  if (is_problem(recorded.problem_id, profile::recording::kNoCupti)) {
    return environment_error(problem,
                             "install it with pip install nvidia-cuda-cupti (or the CUDA toolkit), or name libcupti.so "
                             "in WARPMARK_CUPTI");
  }
  if (whole_graphs && problem.empty()) {  // seen with CUPTI 13.0 and graphs made before the recording began
    return environment_error("nothing that the GPU did was recorded",
                             "CUDA graphs may leave no record as a whole: try without --whole-graphs");
  }
  if (!outcome.still_running.empty() && problem.empty()) {
    return environment_error("the command ended before what it started had been recorded",
                             "record a command that waits for its processes: a daemon in the foreground");
  }
  if (is_problem(recorded.problem_id, profile::recording::kNoRange)) {
    return environment_error(problem, "ranges of NVTX and of PyTorch's record_function count, spelled alike");
  }
  return environment_error(problem.empty() ? "nothing that the GPU did was recorded" : problem,
                           "record all of a short program that repeats nothing with --delay 0s --duration 0s");
}

}  // namespace warpmark::apps
