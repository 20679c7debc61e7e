#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"

extern char** environ;

namespace warpmark {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close_read(), close_write(); }
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = ends[0], write_end = ends[1];
    return true;
  }
  void close_read() { close_end(read_end); }
  void close_write() { close_end(write_end); }

 private:
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

struct SpawnActions {
  posix_spawn_file_actions_t actions{};
  SpawnActions() { posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

/// Reads what is there; closes the end when the writer is gone.
void drain(Pipe& pipe, std::string& into, std::size_t cap, const std::function<void(std::string_view)>& listener) {
  std::array<char, 1 << 16> chunk{};
  const ssize_t got = ::read(pipe.read_end, chunk.data(), chunk.size());
  if (got <= 0 && errno != EINTR && errno != EAGAIN) return pipe.close_read();
  if (got == 0) return pipe.close_read();
  if (got > 0 && listener) listener({chunk.data(), static_cast<std::size_t>(got)});
  if (got > 0 && into.size() < cap)
    into.append(chunk.data(), std::min(static_cast<std::size_t>(got), cap - into.size()));
}

/// A file without a name that holds the input, to be read from its begin: unlike a pipe it needs nobody to feed it
/// while the program's output is read. Not open where there is none to give.
class InputFile {
 public:
  InputFile() = default;
  ~InputFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] Status fill(std::string_view text) {
    fd_ = ::memfd_create("input", MFD_CLOEXEC);
    while (fd_ >= 0 && !text.empty()) {
      const ssize_t put = ::write(fd_, text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    if (fd_ >= 0 && text.empty() && ::lseek(fd_, 0, SEEK_SET) == 0) return {};
    return environment_error(std::string("cannot hold the input of a program: ") + std::strerror(errno));
  }

 private:
  int fd_ = -1;
};

struct SpawnAttributes {
  posix_spawnattr_t attributes{};
  SpawnAttributes() { posix_spawnattr_init(&attributes); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool replaced = std::any_of(changes.begin(), changes.end(),
                                      [&](const auto& change) { return text.starts_with(change.first + "="); });
    if (!replaced) merged.push_back(text);
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

class Child {
 public:
  Child(pid_t id, std::int64_t begin_ns, const ProcessOptions& options)
      : id_(id),
        options_(options),
        begin_(begin_ns),
        deadline_(begin_ns + static_cast<std::int64_t>(options.deadline_s * 1e9)) {}

  [[nodiscard]] bool overdue() const { return monotonic_ns() >= deadline_; }
  [[nodiscard]] bool interrupted() const {
    return (options_.interrupted != nullptr && options_.interrupted->load()) ||
           (options_.should_stop && options_.should_stop());
  }
  /// Until the deadline, at most 100 ms so that interruption is noticed.
  [[nodiscard]] int patience_ms() const {
    const std::int64_t left = (deadline_ - monotonic_ns()) / 1'000'000 + 1;
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, may_be_stopped() ? 100 : 60'000));
  }

  void kill() {
    if (options_.grace_s > 0 && ended_when_asked()) return;
    ::kill(options_.own_group ? -id_ : id_, SIGKILL);
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  /// Whether it ended before the deadline. It may run on after it closed its output.
  bool wait(ProcessOutput& output) {
    int status = 0;
    rusage usage{};
    for (pid_t got = 0; (got = ::wait4(id_, &status, WNOHANG, &usage)) != id_;) {
      if (got < 0 && errno != EINTR) break;
      if (overdue() || interrupted()) return false;
      const timespec pause{0, 200'000};
      ::nanosleep(&pause, nullptr);
    }
    output.wall_s = static_cast<double>(monotonic_ns() - begin_) * 1e-9;
    if (options_.own_group) ::kill(-id_, SIGKILL);  // what it left behind must not disturb what comes next
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    output.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    output.peak_memory_bytes = usage.ru_maxrss * 1024;
    output.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
  }

 private:
  [[nodiscard]] bool may_be_stopped() const { return options_.interrupted != nullptr || options_.should_stop; }

  bool ended_when_asked() {
    ::kill(id_, SIGTERM);
    const std::int64_t last = monotonic_ns() + static_cast<std::int64_t>(options_.grace_s * 1e9);
    int status = 0;
    while (monotonic_ns() < last) {
      if (::waitpid(id_, &status, WNOHANG) == id_) {
        if (options_.own_group) ::kill(-id_, SIGKILL);
        return true;
      }
      const timespec pause{0, 2'000'000};
      ::nanosleep(&pause, nullptr);
    }
    return false;
  }

  pid_t id_;
  const ProcessOptions& options_;
  std::int64_t begin_;
  std::int64_t deadline_;
};

Error stopped_early(const std::string& name, const Child& child, const ProcessOptions& options) {
  if (child.interrupted()) return environment_error(name + " was interrupted");
  return environment_error(name + " did not end within " + fmt::format("{:g} s", options.deadline_s));
}

}  // namespace

Result<ProcessOutput> run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  WM_CHECK(!words.empty());
  Pipe out, err;
  if (!out.open() || !err.open()) return environment_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  InputFile input;
  if (!options.input.empty()) WM_TRY(input.fill(options.input));
  SpawnActions spawn;
  if (input.fd() >= 0) {
    posix_spawn_file_actions_adddup2(&spawn.actions, input.fd(), STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&spawn.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&spawn.actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&spawn.actions, err.write_end, STDERR_FILENO);
  if (!options.directory.empty()) posix_spawn_file_actions_addchdir_np(&spawn.actions, options.directory.c_str());

  SpawnAttributes spawned;
  if (options.own_group) posix_spawnattr_setflags(&spawned.attributes, POSIX_SPAWN_SETPGROUP);
  const auto variables = merged_environment(options.environment);
  const auto arguments = pointers_to(words), environment = pointers_to(variables);
  pid_t id = 0;
  const std::int64_t begin_ns = monotonic_ns();
  const int failure =
      ::posix_spawnp(&id, arguments[0], &spawn.actions, &spawned.attributes, arguments.data(), environment.data());
  if (failure != 0) {
    if (!options.directory.empty() && ::access(options.directory.c_str(), X_OK) != 0) {
      return environment_error("cannot start " + words[0] + ": there is no folder " + options.directory,
                               "check the path; an older revision may not have it");
    }
    return environment_error("cannot start " + words[0] + ": " + std::strerror(failure),
                             "is it installed and on PATH?");
  }
  Child child(id, begin_ns, options);
  out.close_write();
  err.close_write();

  ProcessOutput output;
  while (out.read_end >= 0 || err.read_end >= 0) {
    if (child.overdue() || child.interrupted()) {
      child.kill();
      return stopped_early(words[0], child, options);
    }
    std::array<pollfd, 2> ends{{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}}};
    if (::poll(ends.data(), ends.size(), child.patience_ms()) < 0) continue;
    if (ends[0].revents != 0) drain(out, output.out, options.output_cap_bytes, options.on_out);
    if (ends[1].revents != 0) drain(err, output.err, options.output_cap_bytes, options.on_err);
  }
  if (!child.wait(output)) {
    child.kill();
    return stopped_early(words[0], child, options);
  }
  return output;
}

Result<std::filesystem::path> own_executable() {
  std::error_code code;
  auto path = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return environment_error("cannot find this program: " + code.message(), "is /proc mounted?");
  return path;
}

}  // namespace warpmark
