#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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
void drain(Pipe& pipe, std::string& into, std::size_t cap) {
  std::array<char, 1 << 16> chunk{};
  const ssize_t got = ::read(pipe.read_end, chunk.data(), chunk.size());
  if (got <= 0 && errno != EINTR && errno != EAGAIN) return pipe.close_read();
  if (got == 0) return pipe.close_read();
  if (got > 0 && into.size() < cap)
    into.append(chunk.data(), std::min(static_cast<std::size_t>(got), cap - into.size()));
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<ProcessOutput> run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  WM_CHECK(!words.empty());
  Pipe out, err;
  if (!out.open() || !err.open()) return environment_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  SpawnActions spawn;
  posix_spawn_file_actions_addopen(&spawn.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&spawn.actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&spawn.actions, err.write_end, STDERR_FILENO);
  if (!options.directory.empty()) posix_spawn_file_actions_addchdir_np(&spawn.actions, options.directory.c_str());

  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, arguments[0], &spawn.actions, nullptr, arguments.data(), environ);
  if (failure != 0) {
    return environment_error("cannot start " + words[0] + ": " + std::strerror(failure),
                             "is it installed and on PATH?");
  }
  out.close_write();
  err.close_write();

  ProcessOutput output;
  const std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(options.deadline_s * 1e9);
  while (out.read_end >= 0 || err.read_end >= 0) {
    const std::int64_t left_ms = (deadline - monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) {
      ::kill(child, SIGKILL);
      wait_for(child);
      return environment_error(words[0] + " did not end within " + std::to_string(options.deadline_s) + " s");
    }
    std::array<pollfd, 2> ends{{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}}};
    if (::poll(ends.data(), ends.size(), static_cast<int>(left_ms)) < 0) continue;
    if (ends[0].revents != 0) drain(out, output.out, options.output_cap_bytes);
    if (ends[1].revents != 0) drain(err, output.err, options.output_cap_bytes);
  }
  output.exit_code = wait_for(child);
  return output;
}

}  // namespace warpmark
