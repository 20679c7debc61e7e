// Wakes recorders that sleep in a running program (profile/module/recorder.h, _warpmark_dormant.py), or asks its
// PyTorch, and collects what they record.
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/counters.h"
#include "profile/collectors/record_program.h"
#include "profile/collectors/recording_parts.h"

namespace warpmark::profile {
namespace {

struct KinetoRequest {
  std::filesystem::path folder;  ///< takes a trace of each process, trace_PID.json, and the marks of recording_parts.h
  double duration_s = 2;
  std::int64_t steps = 0;  ///< instead, where the program calls the profiler's step()
};

/// Asks PyTorch's own profiler, Kineto, for traces of a program that runs: answers the requests that its processes send
/// where they were started with KINETO_USE_DAEMON=1, as the daemon of dynolog does. The protocol: dynolog/src/ipcfabric
/// (datagrams between Unix sockets, a header of size and type) and dynolog/src/tracing/IPCMonitor.cpp.
class KinetoDaemon {
 public:
  /// `socket_folder` as KINETO_IPC_SOCKET_DIR of the program; empty: an abstract socket. Environment error where a
  /// daemon listens already.
  [[nodiscard]] static Result<KinetoDaemon> listen(const std::string& socket_folder, KinetoRequest request);
  KinetoDaemon(KinetoDaemon&& other) noexcept;
  KinetoDaemon& operator=(KinetoDaemon&&) = delete;
  ~KinetoDaemon();

  /// Answers what has come: each of these processes is asked once. Never blocks.
  void answer(const std::set<std::int64_t>& processes);

 private:
  KinetoDaemon(int socket, std::string path, KinetoRequest request)
      : socket_(socket), path_(std::move(path)), request_(std::move(request)) {}
  void note_traces();

  int socket_;
  std::string path_;  ///< of the socket; empty: it is abstract
  KinetoRequest request_;
  struct Trace {
    std::uintmax_t bytes = 0;
    std::chrono::steady_clock::time_point since;  ///< it has this size
  };
  std::map<std::int64_t, Trace> asked_;  ///< by process
};

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

namespace fs = std::filesystem;

constexpr const char* kDormant = "WARPMARK_RECORD_DORMANT";  // where a process looks for requests
constexpr const char* kKineto = "KINETO_USE_DAEMON";         // its PyTorch asks a daemon every few seconds
constexpr auto kBetweenPolls = std::chrono::milliseconds(10);
constexpr double kAnswer_s = 30;  // a step may take long, and is asked for between two of them

/// That it was started with. Empty if it was not, or is not ours.
std::string variable_of(std::int64_t process, const std::string& name) {
  const auto environment = read_file("/proc/" + std::to_string(process) + "/environ", 1 << 22);
  if (!environment.ok()) return {};
  for (const auto& variable : split(*environment, '\0')) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return {};
}

bool asks_a_daemon(pid_t process) { return !variable_of(process, kKineto).empty(); }

/// Requests to all processes of a program; withdrawn with the object.
class Requests {
 public:
  Requests() = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() {
    std::error_code ignored;
    for (const auto& file : files_) fs::remove(file, ignored);
  }
  Status send(const std::set<std::int64_t>& processes, const std::string& text) {
    for (const auto one : processes) {
      const auto folder = variable_of(one, kDormant);
      if (folder.empty()) continue;
      files_.push_back(fs::path(folder) / (std::to_string(one) + ".wake"));
      WM_TRY(write_file(files_.back(), text));
    }
    return {};
  }

 private:
  std::vector<fs::path> files_;
};

fs::path place_of(pid_t process) { return "/proc/" + std::to_string(process); }

bool is_there(pid_t process) {
  std::error_code none;
  return fs::exists(place_of(process), none);
}

Status check_process(pid_t process) {
  const auto id = std::to_string(process);
  if (!is_there(process)) {
    return usage_error("there is no process " + id, "pgrep -af python lists the running ones");
  }
  if (::kill(process, 0) != 0) {
    return environment_error("process " + id + " belongs to another user", "run warpmark as that user");
  }
  if (!variable_of(process, kDormant).empty() || asks_a_daemon(process)) return {};
  return usage_error("process " + id + " has no recorder that could be woken",
                     "start the program with: warpmark profile --dormant -- COMMAND (or PyTorch with "
                     "KINETO_USE_DAEMON=1)");
}

std::string request_text(const RecordOptions& options, const fs::path& folder) {
  std::string text;
  for (const auto& [name, value] : record_variables(options, folder)) text += name + "=" + value + "\n";
  return text;
}

}  // namespace

Result<std::vector<pid_t>> sleeping_programs(const fs::path& folder) {
  std::set<std::int64_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto process = parse_integer(entry.path().filename().string());
    if (process.ok() && variable_of(*process, kDormant) == folder.string()) found.insert(*process);
  }
  std::set<std::int64_t> started;
  for (const auto process : found) {
    for (const auto one : family_of("/", static_cast<pid_t>(process))) {
      if (one != process) started.insert(one);
    }
  }
  std::vector<pid_t> programs;
  for (const auto process : found) {
    if (!started.contains(process)) programs.push_back(static_cast<pid_t>(process));
  }
  if (!programs.empty()) return programs;
  return environment_error(
      "no program of yours that runs here was started with --dormant (requests: " + folder.string() + ")",
      "warpmark profile --dormant -- COMMAND; with the same TMPDIR");
}

Result<RecordOutcome> record_running(const RecordOptions& options, std::span<const pid_t> programs) {
  WM_CHECK(!programs.empty());
  for (const auto program : programs) WM_TRY(check_process(program));
  const pid_t process = programs.front();
  WM_ASSIGN(const auto command, read_file(place_of(process) / "cmdline", 1 << 22));
  auto words = split(command, '\0');
  std::erase(words, "");
  WM_ASSIGN(auto parts, RecordingParts::make(options.out, join(words, " ")));
  CounterSampler sampler(parts.machine(), process);
  std::set<std::int64_t> processes;
  for (const auto program : programs) processes.merge(family_of("/", program));
  Requests requests;
  WM_TRY(requests.send(processes, request_text(options, parts.folder())));
  std::optional<KinetoDaemon> daemon;
  if (variable_of(process, kDormant).empty()) {
    auto listening = KinetoDaemon::listen(variable_of(process, "KINETO_IPC_SOCKET_DIR"),
                                          {parts.folder(), options.duration_s, options.steps});
    if (!listening.ok()) {
      parts.discard();
      return listening.error();
    }
    daemon.emplace(std::move(*listening));
  }
  RecordOutcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  double next_sample_s = 0;
  while (!parts.all_recorded()) {
    if (daemon) daemon->answer(processes);
    const double now_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (std::ranges::none_of(programs, is_there)) break;  // what they recorded until then is there
    if (options.interrupted != nullptr && options.interrupted->load()) {
      outcome.interrupted = true;
      break;
    }
    if (now_s > kAnswer_s && parts.begun() == 0) {
      parts.discard();
      return environment_error("process " + std::to_string(process) + " recorded nothing within 30 s",
                               "only steps of PyTorch and calls of CUDA are recorded: is it at its steps?");
    }
    outcome.timed_out = options.deadline_s > 0 && now_s > options.deadline_s;
    if (outcome.timed_out) break;
    if (options.interval_s > 0 && now_s >= next_sample_s) {
      sampler.sample();
      next_sample_s += options.interval_s;
    }
    std::this_thread::sleep_for(kBetweenPolls);
  }
  outcome.gpu_problem = sampler.gpu_problem();
  WM_TRY(parts.complete(options, outcome));
  outcome.still_running.clear();  // they go on, as they should
  return outcome;
}

}  // namespace warpmark::profile
