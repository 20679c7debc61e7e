#include "store/running.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "model/fields/fields.h"

namespace warpmark::store {
namespace {

constexpr const char* kRunningFolder = "running";
constexpr std::size_t kMostRunning = 100;

constexpr Field kRunningFields[] = {
    field<&RunningSession::session>("session"),   field<&RunningSession::started>("started"),
    field<&RunningSession::hostname>("hostname"), field<&RunningSession::phase>("phase"),
    field<&RunningSession::done>("done"),         field<&RunningSession::of>("of"),
    field<&RunningSession::left_s>("left_s"),     field<&RunningSession::updated_at>("updated_at"),
};
constexpr RecordOf<RunningSession> kRunning{"running_session", "", kRunningFields};

/// Whether a process that is alive holds it.
bool is_held(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return held;
}

}  // namespace

Result<RunningMark> RunningMark::make(const std::filesystem::path& folder, RunningSession session) {
  const auto marks = folder / kRunningFolder;
  WM_TRY(make_folder(marks));
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(marks, code)) {
    if (entry.path().extension() == ".json" && !is_held(entry.path())) std::filesystem::remove(entry.path(), code);
  }
  const auto path = marks / (session.session + ".json");
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return environment_error("cannot make " + path.string() + ": " + std::strerror(errno));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    return environment_error("another process measures session " + session.session);
  }
  return RunningMark(path, file, std::move(session));
}

RunningMark::RunningMark(std::filesystem::path path, int file, RunningSession session)
    : path_(std::move(path)), file_(file), session_(std::move(session)) {
  update(session_.phase, session_.done, session_.of, session_.left_s);
}

RunningMark::RunningMark(RunningMark&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), session_(std::move(other.session_)) {}

RunningMark::~RunningMark() {
  if (file_ < 0) return;
  std::error_code code;
  std::filesystem::remove(path_, code);
  ::close(file_);
}

void RunningMark::update(const std::string& phase, std::int64_t done, std::int64_t of, double left_s) {
  session_.phase = phase;
  session_.done = done;
  session_.of = of;
  session_.left_s = left_s;
  session_.updated_at = format_utc(wall_clock_s());
  const std::string text = dump_json(write(kRunning, session_), -1) + "\n";
  const auto put = ::pwrite(file_, text.data(), text.size(), 0);
  if (put == static_cast<ssize_t>(text.size()) && ::ftruncate(file_, put) != 0) return;
}

std::vector<RunningSession> running_sessions(const std::filesystem::path& folder) {
  std::vector<RunningSession> found;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder / kRunningFolder, code)) {
    if (found.size() >= kMostRunning) break;
    if (entry.path().extension() != ".json" || !is_held(entry.path())) continue;
    const auto text = read_file(entry.path(), 1 << 16);
    if (!text.ok()) continue;  // it ended meanwhile
    const auto json = parse_json(*text, entry.path().string());
    if (!json.ok()) continue;  // it is being written
    if (auto session = read(kRunning, *json); session.ok()) found.push_back(std::move(*session));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.session < b.session; });
  return found;
}

}  // namespace warpmark::store
