#include "store/running.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"

namespace warpmark::store {
namespace {

constexpr const char* kRunningFolder = "running";
constexpr std::size_t kMostRunning = 100;

Json running_json(const RunningSession& session) {
  return {{"session", session.session},   {"started", session.started},
          {"hostname", session.hostname}, {"phase", session.phase},
          {"done", session.done},         {"of", session.of},
          {"left_s", session.left_s},     {"updated_at", session.updated_at}};
}

std::optional<RunningSession> running_from(const std::string& text, const std::string& name) {
  const auto json = parse_json(text, name);
  if (!json.ok()) return std::nullopt;  // it is being written
  try {
    return RunningSession{.session = json->at("session").get<std::string>(),
                          .started = json->at("started").get<std::string>(),
                          .hostname = json->at("hostname").get<std::string>(),
                          .phase = json->at("phase").get<std::string>(),
                          .done = json->at("done").get<std::int64_t>(),
                          .of = json->at("of").get<std::int64_t>(),
                          .left_s = json->at("left_s").get<double>(),
                          .updated_at = json->at("updated_at").get<std::string>()};
  } catch (const Json::exception&) {
    return std::nullopt;  // not one of ours
  }
}

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
  const std::string text = dump_json(running_json(session_), -1) + "\n";
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
    if (auto session = running_from(*text, entry.path().string())) found.push_back(std::move(*session));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.session < b.session; });
  return found;
}

}  // namespace warpmark::store
