#include "profile/collectors/kineto_daemon.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "dynolog";
constexpr std::string_view kRegister = "ctxt", kAsk = "req";
constexpr std::int32_t kActivities = 2;  // the kind of configuration that makes a trace; the other is of counters
constexpr std::size_t kMostBytes = 65536;
constexpr auto kComplete = std::chrono::milliseconds(500);

/// Before the payload of every message.
struct Header {
  std::uint64_t bytes = 0;
  std::array<char, 32> type{};
};

/// Payload of "req", followed by the ids of the process and its ancestors.
struct Asked {
  std::int32_t type = 0;
  std::int32_t processes = 0;
  std::int64_t job = 0;
};

/// The length of an abstract name counts a zero at its end, too, as the peer's does.
socklen_t address_of(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::string name = path.empty() ? std::string(1, '\0') + kName : path;
  std::memcpy(address.sun_path, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
}

void send_to(int socket, const sockaddr_un& to, socklen_t length, std::string_view type, std::string_view payload) {
  Header header{.bytes = payload.size()};
  std::memcpy(header.type.data(), type.data(), type.size());
  std::string message(reinterpret_cast<const char*>(&header), sizeof header);
  message += payload;
  // Lost where the process has just ended; it asks again otherwise.
  (void)!::sendto(socket, message.data(), message.size(), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to), length);
}

std::string configuration(const KinetoRequest& request) {
  const std::string when = request.steps > 0 ? fmt::format(
                                                   "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=1\n"
                                                   "ACTIVITIES_ITERATIONS={}\n",
                                                   request.steps)
                                             : fmt::format("PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS={}\n",
                                                           std::llround(request.duration_s * 1e3));
  return "ACTIVITIES_LOG_FILE=" + (request.folder / "trace.json").string() + "\n" + when +
         "PROFILE_REPORT_INPUT_SHAPES=true\n";
}

/// The process itself comes first; -1 for what is no request for a trace.
std::int64_t asking_process(std::string_view payload) {
  Asked asked;
  if (payload.size() < sizeof asked + sizeof(std::int32_t)) return -1;
  std::memcpy(&asked, payload.data(), sizeof asked);
  std::int32_t process = -1;
  std::memcpy(&process, payload.data() + sizeof asked, sizeof process);
  return asked.processes > 0 && (asked.type & kActivities) != 0 ? process : -1;
}

/// By its last bytes: traces have hundreds of megabytes.
bool ends_as_json(const fs::path& trace, std::uintmax_t size) {
  std::ifstream file(trace, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size - std::min<std::uintmax_t>(size, 64)));
  const std::string end{std::istreambuf_iterator<char>(file), {}};
  return trim(end).ends_with('}');
}

}  // namespace

Result<KinetoDaemon> KinetoDaemon::listen(const std::string& socket_folder, KinetoRequest request) {
  const std::string path = socket_folder.empty() ? "" : socket_folder + "/" + kName;
  sockaddr_un address;
  if (path.size() >= sizeof address.sun_path) {
    return usage_error("the path of the socket is too long: " + path, "set KINETO_IPC_SOCKET_DIR to a shorter one");
  }
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return environment_error(std::string("cannot make a socket: ") + std::strerror(errno));
  const socklen_t length = address_of(path, address);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    const std::string why = errno == EADDRINUSE ? "a daemon of dynolog runs on this machine" : std::strerror(errno);
    ::close(socket);
    return environment_error("cannot answer the program's profiler: " + why,
                             "ask that daemon: dyno gputrace --pids PID --log-file /tmp/trace.json, then warpmark "
                             "analyze the trace");
  }
  return KinetoDaemon(socket, path, std::move(request));
}

KinetoDaemon::KinetoDaemon(KinetoDaemon&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      path_(std::exchange(other.path_, {})),
      request_(std::move(other.request_)),
      asked_(std::move(other.asked_)) {}

KinetoDaemon::~KinetoDaemon() {
  if (socket_ < 0) return;
  ::close(socket_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

void KinetoDaemon::answer(const std::set<std::int64_t>& processes) {
  std::vector<char> buffer(kMostBytes);
  while (true) {
    sockaddr_un from;
    socklen_t length = sizeof from;
    const ssize_t got =
        ::recvfrom(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &length);
    if (got < static_cast<ssize_t>(sizeof(Header))) break;
    Header header;
    std::memcpy(&header, buffer.data(), sizeof header);
    const std::string_view type(header.type.data(), ::strnlen(header.type.data(), header.type.size()));
    const std::string_view payload(buffer.data() + sizeof header, static_cast<std::size_t>(got) - sizeof header);
    if (type == kRegister) {
      const std::int32_t count = 1;
      send_to(socket_, from, length, kRegister, {reinterpret_cast<const char*>(&count), sizeof count});
    } else if (type == kAsk) {
      const std::int64_t process = asking_process(payload);
      const bool wanted = processes.contains(process) && asked_.try_emplace(process).second;
      send_to(socket_, from, length, kAsk, wanted ? configuration(request_) : "");
      if (wanted) (void)write_file(request_.folder / fmt::format(".{}.begun", process), "");
    }
  }
  note_traces();
}

/// A trace is complete when it ends as JSON does and has not grown for a while.
void KinetoDaemon::note_traces() {
  const auto now = std::chrono::steady_clock::now();
  for (auto& [process, seen] : asked_) {
    const fs::path trace = request_.folder / fmt::format("trace_{}.json", process);
    std::error_code none;
    const std::uintmax_t size = fs::file_size(trace, none);
    if (none || size == 0) continue;
    if (size != seen.bytes) {
      seen = {size, now};
    } else if (now - seen.since > kComplete) {
      const fs::path done = request_.folder / fmt::format(".{}.done", process);
      if (!fs::exists(done, none) && ends_as_json(trace, size)) (void)write_file(done, "");
    }
  }
}

}  // namespace warpmark::profile
