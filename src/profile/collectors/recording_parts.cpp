#include "profile/collectors/recording_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/stacks.h"
#include "profile/read_session.h"
#include "profile/recording/convert.h"
#include "profile/recording/join.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMachinePart = "machine.wmrec";
constexpr const char* kTracesPart = "traces.wmrec";
constexpr const char* kBegunMark = ".begun";  // of ".ID.begun", where a process writes its part only at the end
constexpr const char* kDoneMark = ".done";    // of ".ID.done", as the recorder's module names it

/// What the processes wrote, in the order of their names, and what we wrote about the machine.
std::vector<fs::path> parts_in(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) parts.push_back(entry.path());
  std::sort(parts.begin(), parts.end());
  return parts;
}

/// Of the processes that wrote these parts, which are named by their ids. Nobody else can have such an id meanwhile:
/// the command has only just ended.
std::vector<std::int64_t> running_among(const std::vector<fs::path>& parts) {
  std::vector<std::int64_t> running;
  for (const auto& part : parts) {
    const auto id = parse_integer(part.stem().string());
    const std::string state = id.ok() ? first_line("/proc/" + std::to_string(*id) + "/stat") : "";
    if (!state.empty() && state.find(") Z ") == std::string::npos) running.push_back(*id);
  }
  return running;
}

/// Kineto's traces as one part; their number.
Result<std::int64_t> take_traces(const fs::path& folder) {
  std::vector<fs::path> traces = parts_in(folder);
  std::erase_if(traces, [](const fs::path& part) { return part.extension() != ".json"; });
  if (traces.empty()) return 0;
  WM_ASSIGN(const auto session, read_session(traces));
  WM_TRY(kRecordingFormat.write(session, folder / kTracesPart));
  return std::ssize(traces);
}

}  // namespace

fs::path parts_folder(const fs::path& out) { return fs::absolute(out.string() + ".parts"); }

Result<RecordingParts> RecordingParts::make(const fs::path& out, const std::string& command) {
  RecordingParts parts;
  parts.folder_ = parts_folder(out);
  WM_TRY(make_folder(parts.folder_, "choose a file in a folder that you can write with --out"));
  parts.machine_ = std::make_unique<recording::RecordingWriter>();
  if (!parts.machine_->open((parts.folder_ / kMachinePart).c_str())) {
    return environment_error("cannot write into " + parts.folder_.string(), "choose another --out");
  }
  parts.machine_->metadata("command", command);
  return parts;
}

std::size_t RecordingParts::begun() const {
  std::set<std::string> processes;
  for (const auto& part : parts_in(folder_)) {
    if (part.extension() == kBegunMark) processes.insert(part.stem().string().substr(1));
    if (part.extension() == ".wmrec" && part.filename() != kMachinePart) processes.insert(part.stem().string());
  }
  return processes.size();
}

bool RecordingParts::all_recorded() const {
  const auto parts = parts_in(folder_);
  const auto done = std::count_if(parts.begin(), parts.end(), [](const auto& p) { return p.extension() == kDoneMark; });
  return done > 0 && static_cast<std::size_t>(done) >= begun();
}

void RecordingParts::discard() {
  machine_->close();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Status RecordingParts::complete(const RecordOptions& options, RecordOutcome& outcome) {
  machine_->finish();
  WM_ASSIGN(const std::int64_t traces, take_traces(folder_));
  auto parts = parts_in(folder_);
  for (const auto& part : parts) {
    if (part.extension() == ".phases" && outcome.phases.empty()) outcome.phases = first_line(part);
  }
  std::erase_if(parts, [](const fs::path& part) { return part.extension() != ".wmrec"; });
  outcome.processes = std::ssize(parts) - 1 + (traces > 0 ? traces - 1 : 0);
  outcome.still_running = running_among(parts);
  if (outcome.processes == 0) {  // samples of the machine alone: not worth what may be in the file
    discard();
    return {};
  }
  if (!options.stacks.empty()) WM_TRY(add_stacks(options.stacks, parts, outcome.stacks_problem));
  if (const Status joined = recording::join_parts(parts, options.out); !joined.ok()) {
    Error error = joined.error();
    error.hint = "the parts are kept in " + folder_.string() + ", which warpmark analyze reads too";
    return error;
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  return {};
}

}  // namespace warpmark::profile
