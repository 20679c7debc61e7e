#include "workers/guardian.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

extern char** environ;

namespace warpmark::workers {
namespace {

// Several times, as what is found may start another meanwhile.
constexpr const char* kScript =
    "read -r word\n"
    "for again in 1 2 3; do\n"
    "  found=$(grep -lszxF -e \"$1\" /proc/[0-9]*/environ)\n"  // its status tells of others' files, too
    "  [ -n \"$found\" ] || exit 0\n"
    "  for file in $found; do\n"
    "    id=${file#/proc/}\n"
    "    kill -9 \"${id%/environ}\"\n"
    "  done\n"
    "done\n";

}  // namespace

Guardian::Guardian(const std::string& variable) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is not for it
  std::string shell = "/bin/sh", option = "-c", script = kScript, name = "guardian", wanted = variable;
  char* words[] = {shell.data(), option.data(), script.data(), name.data(), wanted.data(), nullptr};
  if (::posix_spawn(&shell_, shell.c_str(), &actions, &attributes, words, environ) != 0) shell_ = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[0]);
  pipe_ = ends[1];
}

Guardian::~Guardian() {
  if (pipe_ >= 0) ::close(pipe_);
  while (shell_ > 0 && ::waitpid(shell_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace warpmark::workers
