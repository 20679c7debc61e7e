#include "optimize/apply/recorded_run.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analyze/analyze.h"
#include "base/files.h"
#include "model/fields/fields.h"
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
std::vector<std::string> kernels_of(const ProfileSession& session) {
  std::set<std::string> names;
  for (const auto& timeline : session.ranks) {
    const auto& events = timeline.events;
    std::set<NameId> ids;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events.kind[i] == EventKind::kernel) ids.insert(events.name[i]);
    }
    for (const NameId id : ids) names.emplace(timeline.names.at(id));
  }
  return {names.begin(), names.end()};
}

void remove_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

constexpr Field kFindingFields[] = {
    field<&OptimizationFinding::rule>("rule"),         field<&OptimizationFinding::title>("title"),
    field<&OptimizationFinding::severity>("severity"), field<&OptimizationFinding::low>("low"),
    field<&OptimizationFinding::high>("high"),         field<&OptimizationFinding::advice>("advice"),
    field<&OptimizationFinding::text>("text"),         field<&OptimizationFinding::code>("code"),
    field<&OptimizationFinding::where>("where")};
constexpr RecordOf<OptimizationFinding> kFinding{"finding", "", kFindingFields};

constexpr Field kGainFields[] = {field<&FoundGain::rule>("rule"), field<&FoundGain::advice>("advice"),
                                 field<&FoundGain::low>("low"), field<&FoundGain::high>("high")};
constexpr RecordOf<FoundGain> kGain{"gain", "", kGainFields};

constexpr auto was_read = [](const StepRecording& recording) { return recording.problem.empty(); };
constexpr Field kRecordingFields[] = {field<&StepRecording::gpu_work>("gpu_work"),
                                      field<&StepRecording::findings>("findings", "", kFinding),
                                      field<&StepRecording::found>("found", "", kGain),
                                      field<&StepRecording::problem>("problem").unless_empty(),
                                      field<&StepRecording::kernels>("kernels").when(was_read),
                                      field<&StepRecording::seconds_per_step>("seconds_per_step").when(was_read)};

}  // namespace

constexpr RecordOf<StepRecording> kStepRecording{"recording", "", kRecordingFields};

TraceFolder::TraceFolder(std::filesystem::path folder) : folder_(std::move(folder)) { remove_folder(folder_); }

TraceFolder::~TraceFolder() { remove_folder(folder_); }

StepRecording analyze_traces(const std::filesystem::path& folder) {
  StepRecording recording;
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  recording.problem = "no steps were recorded";
  if (files.empty()) return recording;
  const auto session = profile::read_session(files);
  recording.problem = session.ok() ? "" : session.error().what;
  if (!session.ok()) return recording;
  const auto analysis = analyze::analyze(*session, {.tables = false});
  return {.gpu_work = has_gpu_work(*session),
          .seconds_per_step = analysis.undisturbed_step_ns * 1e-9,
          .findings = findings_of(analysis.findings),
          .found = gains_of(analysis.findings),
          .kernels = kernels_of(*session)};
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
