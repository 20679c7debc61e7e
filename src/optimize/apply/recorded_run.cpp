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
  json["seconds_per_step"] = finite_number(analysis.undisturbed_step_ns * 1e-9);
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

StepRecording recording_from(const Json& analyzed) {
  StepRecording recording{.gpu_work = analyzed.value("gpu_work", false),
                          .seconds_per_step = analyzed.value("seconds_per_step", 0.0)};
  for (const auto& one : analyzed.value("findings", Json::array())) {
    recording.findings.push_back({.rule = one.value("rule", ""),
                                  .title = one.value("title", ""),
                                  .severity = one.value("severity", 0.0),
                                  .low = one.value("low", 1.0),
                                  .high = one.value("high", 1.0),
                                  .advice = one.value("advice", ""),
                                  .text = one.value("text", ""),
                                  .code = one.value("code", ""),
                                  .where = one.value("where", "")});
  }
  recording.kernels = analyzed.value("kernels", std::vector<std::string>());
  for (const auto& one : analyzed.value("found", Json::array())) {
    recording.found.push_back(
        {one.value("rule", ""), one.value("advice", ""), one.value("low", 1.0), one.value("high", 1.0)});
  }
  return recording;
}

void StepRecording::bound_to(double unrecorded_s) {
  if (seconds_per_step <= unrecorded_s || unrecorded_s <= 0) return;
  const auto bound = [share = unrecorded_s / seconds_per_step](auto& gain) {
    gain.low = std::max(1.0, gain.low * share);
    gain.high = std::max(1.0, gain.high * share);
  };
  std::ranges::for_each(findings, bound);
  std::ranges::for_each(found, bound);
  std::erase_if(found, [](const FoundGain& gain) { return gain.high <= 1; });
}

void StepRecording::take_places(const StepRecording& located) {
  for (auto& finding : findings) {
    const auto same = std::ranges::find(located.findings, finding.rule, &OptimizationFinding::rule);
    if (same != located.findings.end()) finding.where = same->where;
  }
}

std::string StepRecording::text() const {
  if (!gpu_work) return {};
  return findings.empty() ? "the recorded steps show nothing worth fixing"
                          : "found in recorded steps: " + found_text(findings);
}

}  // namespace warpmark::optimize
