#include "base/processes/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"

extern char** environ;

namespace warpmark {
namespace {

constexpr std::int64_t kUnkillable_ns = 5'000'000'000;  // waits in the kernel, or belongs to another user
constexpr char kLeaveAlone = -1;                        // a command to the reaper; the others are signals

/// What the reaper reports: the start, then the ending.
struct Report {
  int failure = 0;  ///< errno of a failed start
  pid_t id = -1;
  int status = 0;
  std::int64_t at_ns = 0;
  std::int64_t began_ns = 0;
  rusage usage{};
};

/// What is made before the fork, as afterwards nothing may be allocated.
struct Request {
  const char* program = nullptr;
  std::vector<char*> words;
  std::vector<char*> variables;
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  int channel = -1;  ///< to us: commands one way, reports the other
  bool own_group = true;
  double grace_s = 0;
  Request() { posix_spawn_file_actions_init(&actions), posix_spawnattr_init(&attributes); }
  ~Request() { posix_spawn_file_actions_destroy(&actions), posix_spawnattr_destroy(&attributes); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

/// The forked process. Our other threads are not in it, and a lock they held stays locked: it calls only what signal
/// handlers may call, and posix_spawn, which in glibc takes no lock and allocates by mmap alone.
class Reaper {
 public:
  explicit Reaper(const Request& request) : request_(request) {}

  [[noreturn]] void run() {
    take_a_name();
    ::setpgid(0, 0);
    if (request_.own_group) leave_the_terminal();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::signal(SIGCHLD, SIG_DFL);
    sigset_t child{};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    report_.began_ns = monotonic_ns();
    report_.failure = ::posix_spawnp(&report_.id, request_.program, &request_.actions, &request_.attributes,
                                     request_.words.data(), request_.variables.data());
    send_report();
    if (report_.failure != 0) ::_exit(1);
    close_others();
    wait_for_the_end();
    if (ended_ && !request_.own_group) {
      send_report();
      if (asked_to_leave_alone()) ::_exit(0);
    }
    if (!ended_ && request_.grace_s > 0) ask_to_end();
    kill_all();
    if (request_.own_group) send_report();
    ::_exit(0);
  }

 private:
  /// Others than us end warpmark by its name or command line: that must not end who cleans up after it.
  static void take_a_name() {
    constexpr std::string_view kName = "reaper";
    ::prctl(PR_SET_NAME, kName.data());
    std::array<char, 4096> line{};
    const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    std::size_t length = 0;
    for (ssize_t got = 1; got > 0;) {
      got = ::read(file, line.data(), line.size());
      if (length == 0 && (got <= static_cast<ssize_t>(kName.size()) ||
                          std::memcmp(line.data(), program_invocation_name, kName.size()) != 0)) {
        break;
      }
      if (got > 0) length += static_cast<std::size_t>(got);
    }
    ::close(file);
    if (length == 0) return;
    std::memset(program_invocation_name, 0, length);
    std::memcpy(program_invocation_name, kName.data(), kName.size());
  }

  /// Who reads a terminal from a group in its background, or changes it as stty does, would be stopped for ever. A
  /// session of its own would do as well, but the scheduler gives each session a share of the processors
  /// (sched_autogroup), which comes late where others work: `true` then takes 8 ms instead of 1.
  static void leave_the_terminal() {
    const int terminal = ::open("/dev/tty", O_RDONLY | O_CLOEXEC);
    if (terminal < 0) return;
    ::ioctl(terminal, TIOCNOTTY);
    ::close(terminal);
  }

  void send_report() { (void)!::send(request_.channel, &report_, sizeof(report_), MSG_NOSIGNAL); }

  /// A descriptor that is held here stays open when we close it: pipes, sockets, locks.
  void close_others() const {
    const auto low = static_cast<unsigned>(std::min(request_.channel, signals_));
    const auto high = static_cast<unsigned>(std::max(request_.channel, signals_));
    close_range_of(0, low - 1);
    close_range_of(low + 1, high - 1);
    close_range_of(high + 1, ~0U);
  }
  static void close_range_of(unsigned from, unsigned to) {
    if (::syscall(SYS_close_range, from, to, 0) == 0) return;
    for (unsigned fd = from; fd <= std::min(to, 65'535U); ++fd) ::close(static_cast<int>(fd));  // before Linux 5.9
  }

  /// Until the program has ended, we ask for that, or we are gone.
  void wait_for_the_end() {
    while (!ended_) {
      std::array<pollfd, 2> waited{{{request_.channel, POLLIN, 0}, {signals_, POLLIN, 0}}};
      if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return;
      if (waited[1].revents != 0) reap();
      if (waited[0].revents == 0 || ended_) continue;
      char command = 0;
      if (::read(request_.channel, &command, 1) <= 0) return;
      ::kill(report_.id, command);
    }
  }

  /// Of what the program left behind, once we know how it ended. Not where we are gone.
  [[nodiscard]] bool asked_to_leave_alone() const {
    char command = 0;
    for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
      got = ::read(request_.channel, &command, 1);
      if (got > 0 && command == kLeaveAlone) return true;
    }
    return false;
  }

  /// Whether there are processes left.
  bool reap() {
    signalfd_siginfo reported{};
    while (::read(signals_, &reported, sizeof(reported)) > 0) {
    }
    for (;;) {
      int status = 0;
      rusage usage{};
      const pid_t id = ::wait4(-1, &status, WNOHANG, &usage);
      if (id < 0 && errno == EINTR) continue;
      if (id <= 0) return id == 0;
      if (id != report_.id) continue;
      ended_ = true;
      report_.status = status;
      report_.usage = usage;
      report_.at_ns = monotonic_ns();
    }
  }

  void ask_to_end() {
    ::kill(report_.id, SIGTERM);
    const std::int64_t last = monotonic_ns() + static_cast<std::int64_t>(request_.grace_s * 1e9);
    while (!ended_ && monotonic_ns() < last) {
      pollfd waited{signals_, POLLIN, 0};
      ::poll(&waited, 1, 10);
      reap();
    }
  }

  /// Those whose parent is killed become ours, so that killing our children again and again ends the whole tree.
  void kill_all() {
    const std::int64_t last = monotonic_ns() + kUnkillable_ns;
    if (!ended_) ::kill(-report_.id, SIGKILL);
    while (reap() && monotonic_ns() < last) {
      kill_children();
      pollfd waited{signals_, POLLIN, 0};
      ::poll(&waited, 1, 2);
    }
  }

  static void kill_children() {
    const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    alignas(8) std::array<char, 8192> entries{};
    for (long size = 0; (size = ::syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0;) {
      for (long at = 0; at < size;) {
        unsigned short length = 0;  // struct linux_dirent64, getdents(2)
        std::memcpy(&length, entries.data() + at + 16, sizeof(length));
        kill_if_ours(folder, entries.data() + at + 19);
        at += length;
      }
    }
    ::close(folder);
  }

  static void kill_if_ours(int proc, const char* name) {
    pid_t id = 0;
    for (const char* digit = name; *digit != '\0'; ++digit) {
      if (*digit < '0' || *digit > '9') return;
      id = id * 10 + (*digit - '0');
    }
    std::array<char, 32> path{};
    std::strncpy(path.data(), name, 16);
    std::strcat(path.data(), "/stat");
    const int file = ::openat(proc, path.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    std::array<char, 512> text{};
    const ssize_t size = ::read(file, text.data(), text.size() - 1);
    ::close(file);
    // "12 (a name) S 11 ...": number, name, state, parent (proc(5)); a name may hold parentheses.
    const char* behind = size > 0 ? std::strrchr(text.data(), ')') : nullptr;
    if (behind == nullptr || std::strlen(behind) < 5 || behind[2] == 'Z') return;
    pid_t parent = 0;
    for (const char* digit = behind + 4; *digit >= '0' && *digit <= '9'; ++digit) parent = parent * 10 + (*digit - '0');
    if (parent == ::getpid()) ::kill(id, SIGKILL);
  }

  const Request& request_;
  Report report_;
  int signals_ = -1;
  bool ended_ = false;
};

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::any_of(changes.begin(), changes.end(),
                                      [&](const auto& change) { return text.starts_with(change.first + "="); });
    if (!replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : changes) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Error start_error(const std::string& program, const std::string& directory, int failure) {
  if (!directory.empty() && ::access(directory.c_str(), X_OK) != 0) {
    return environment_error("cannot start " + program + ": there is no folder " + directory,
                             "check the path; an older revision may not have it");
  }
  return environment_error("cannot start " + program + ": " + std::strerror(failure),
                           failure == EAGAIN ? "end other processes, or raise the limit: ulimit -u"
                                             : "check the spelling, and that it is installed and on PATH");
}

/// Nothing where somebody killed the reaper.
std::optional<Report> next_report(int channel) {
  Report report;
  ssize_t got = 0;
  while ((got = ::read(channel, &report, sizeof(report))) < 0 && errno == EINTR) {
  }
  return got == static_cast<ssize_t>(sizeof(report)) ? std::optional(report) : std::nullopt;
}

}  // namespace

Result<Reaped> Reaped::start(const std::vector<std::string>& words, const ReapedOptions& options) {
  WM_CHECK(!words.empty());
  Reaped started;
  std::array<int, 2> channel{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel.data()) != 0) {
    return start_error(words[0], {}, errno);
  }
  started.channel_ = channel[0];
  started.may_leave_ = !options.own_group;
  started.interrupted_ = options.interrupted;
  const auto variables = merged_environment(options.environment);
  Request request;
  request.program = words[0].c_str();
  request.words = pointers_to(words);
  request.variables = pointers_to(variables);
  request.channel = channel[1];
  request.own_group = options.own_group;
  request.grace_s = options.grace_s;
  for (const auto& [ours, its] : options.descriptors) {
    posix_spawn_file_actions_adddup2(&request.actions, ours, its);
  }
  if (!options.directory.empty()) posix_spawn_file_actions_addchdir_np(&request.actions, options.directory.c_str());
  posix_spawnattr_setflags(&request.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&request.attributes, options.own_group ? 0 : ::getpgrp());

  sigset_t all{}, before{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  posix_spawnattr_setsigmask(&request.attributes, &before);
  started.reaper_ = ::_Fork();
  const int failure = errno;
  if (started.reaper_ == 0) Reaper(request).run();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(channel[1]);
  if (started.reaper_ < 0) return start_error(words[0], {}, failure);
  const auto report = next_report(started.channel_);
  if (!report) return environment_error("cannot start " + words[0] + ": its reaper was killed", "try again");
  if (report->failure != 0) return start_error(words[0], options.directory, report->failure);
  started.id_ = report->id;
  return started;
}

Reaped::Reaped(Reaped&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      reaper_(std::exchange(other.reaper_, -1)),
      channel_(std::exchange(other.channel_, -1)),
      may_leave_(other.may_leave_),
      interrupted_(other.interrupted_),
      ending_(other.ending_) {}

Reaped& Reaped::operator=(Reaped&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(reaper_, other.reaper_);
  std::swap(channel_, other.channel_);
  std::swap(may_leave_, other.may_leave_);
  std::swap(interrupted_, other.interrupted_);
  std::swap(ending_, other.ending_);
  return *this;
}

Reaped::~Reaped() { end(); }

std::optional<ProcessEnding> Reaped::poll() {
  if (ending_ || channel_ < 0) return ending_;
  pollfd waited{channel_, POLLIN, 0};
  if (::poll(&waited, 1, 0) <= 0) return std::nullopt;
  const auto report = next_report(channel_);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  if (!report) {
    ::kill(id_, SIGKILL);
    ending_ = ProcessEnding{.exit_code = 128 + SIGKILL};
  } else {
    ending_ = ProcessEnding{
        .exit_code = WIFSIGNALED(report->status) ? 128 + WTERMSIG(report->status) : WEXITSTATUS(report->status),
        .wall_s = static_cast<double>(report->at_ns - report->began_ns) * 1e-9,
        .cpu_s = seconds(report->usage.ru_utime) + seconds(report->usage.ru_stime),
        .peak_memory_bytes = report->usage.ru_maxrss * 1024};
    if (may_leave_ && (interrupted_ == nullptr || !interrupted_->load())) command(kLeaveAlone);
  }
  end();
  return ending_;
}

void Reaped::send(int signal) {
  may_leave_ = false;
  command(static_cast<char>(signal));
}

void Reaped::command(char command) const {
  if (channel_ >= 0) (void)!::send(channel_, &command, 1, MSG_NOSIGNAL);
}

void Reaped::end() {
  if (channel_ >= 0) ::close(channel_);
  channel_ = -1;
  while (reaper_ > 0 && ::waitpid(reaper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  reaper_ = -1;
}

}  // namespace warpmark
