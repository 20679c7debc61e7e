#include "optimize/apply/recorded_run.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analyze/analyze.h"
#include "base/files.h"
#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_fields.h"
#include "optimize/findings.h"
#include "profile/read_session.h"

namespace warpmark::optimize {
namespace {

bool has_gpu_work(const ProfileSession& session) {
  return std::any_of(session.ranks.begin(), session.ranks.end(), [](const Timeline& timeline) {
    return std::any_of(timeline.events.kind.begin(), timeline.events.kind.end(), is_gpu_work);
  });
}

/// The different names.
std::set<std::string> kernels_of(const ProfileSession& session) {
  std::set<std::string> names;
  for (const auto& timeline : session.ranks) {
    const auto& events = timeline.events;
    std::set<NameId> ids;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events.kind[i] == EventKind::kernel) ids.insert(events.name[i]);
    }
    for (const NameId id : ids) names.emplace(timeline.names.at(id));
  }
  return names;
}

void remove_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace

TraceFolder::TraceFolder(std::filesystem::path folder) : folder_(std::move(folder)) { remove_folder(folder_); }

TraceFolder::~TraceFolder() { remove_folder(folder_); }

Status TraceFolder::prepare(workers::HookPlan& plan) const {
  if (plan.profile_steps <= 0) return {};
  WM_TRY(make_folder(folder_));
  plan.profile_folder = folder_.string();
  return {};
}

void TraceFolder::add_analysis(Json& answer) const {
  std::error_code ignored;
  if (std::filesystem::exists(folder_, ignored)) answer["analysis"] = analyze_traces(folder_);
}

Json analyze_traces(const std::filesystem::path& folder) {
  Json json{{"gpu_work", false}, {"findings", Json::array()}, {"found", Json::array()}};
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    json["problem"] = "no steps were recorded";
    return json;
  }
  const auto session = profile::read_session(files);
  if (!session.ok()) {
    json["problem"] = session.error().what;
    return json;
  }
  json["gpu_work"] = has_gpu_work(*session);
  json["kernels"] = kernels_of(*session);
  const auto analysis = analyze::analyze(*session, {.tables = false});
  for (const auto& finding : findings_of(analysis.findings)) {
    json["findings"].push_back({{"rule", finding.rule},
                                {"title", finding.title},
                                {"severity", finite_number(finding.severity)},
                                {"low", finite_number(finding.low)},
                                {"high", finite_number(finding.high)},
                                {"advice", finding.advice},
                                {"text", finding.text},
                                {"code", finding.code},
                                {"where", finding.where}});
  }
  for (const auto& gain : gains_of(analysis.findings)) {
    json["found"].push_back({{"rule", gain.rule},
                             {"advice", gain.advice},
                             {"low", finite_number(gain.low)},
                             {"high", finite_number(gain.high)}});
  }
  return json;
}

RunOptions recorded_run(RunOptions run, bool stacks) {
  constexpr std::int64_t kRecorded = 8;
  run.plan.profile_steps = std::max<std::int64_t>(1, std::min(kRecorded, run.plan.window_steps - 1));
  run.plan.profile_stacks = stacks;
  run.plan.window_steps = 0;
  run.plan.window_s = 0;
  run.plan.stop = true;
  return run;
}

std::string add_found(const ProgramRun& recorded, ProgramFacts& facts) {
  facts.analyzed = recorded.gpu_work;
  facts.found = recorded.found;
  if (!recorded.gpu_work) return {};
  if (recorded.findings.empty()) return "the recorded steps show nothing worth fixing";
  return "found in recorded steps: " + found_text(recorded.findings);
}

void put_findings(const Json& json, ProgramRun& run) {
  run.gpu_work = json.value("gpu_work", false);
  for (const auto& one : json.value("findings", Json::array())) {
    run.findings.push_back({.rule = one.value("rule", ""),
                            .title = one.value("title", ""),
                            .severity = one.value("severity", 0.0),
                            .low = one.value("low", 1.0),
                            .high = one.value("high", 1.0),
                            .advice = one.value("advice", ""),
                            .text = one.value("text", ""),
                            .code = one.value("code", ""),
                            .where = one.value("where", "")});
  }
  run.kernels = json.value("kernels", std::vector<std::string>());
  for (const auto& one : json.value("found", Json::array())) {
    run.found.push_back(
        {one.value("rule", ""), one.value("advice", ""), one.value("low", 1.0), one.value("high", 1.0)});
  }
}

}  // namespace warpmark::optimize
