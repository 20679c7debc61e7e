// A verb that runs beside the test until it is told to end, as services do.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "apps/cli_fixture.h"
#include "base/clock.h"
#include "base/files.h"

extern char** environ;

namespace warpmark::apps {

/// `before` and then the executable with these words of a shell; what it prints is added to the file.
inline pid_t start_in_background(const std::string& words, const std::string& output_file,
                                 const std::string& before = "") {
  std::string line =
      before + "exec " + in_quotes(kExecutable) + " " + words + " >> " + in_quotes(output_file) + " 2>&1";
  std::string shell = "sh", option = "-c";
  char* const arguments[] = {shell.data(), option.data(), line.data(), nullptr};
  pid_t id = 0;
  EXPECT_EQ(posix_spawnp(&id, "sh", nullptr, nullptr, arguments, environ), 0);
  return id;
}

/// Whether the file has this text within a minute.
inline bool comes_to_have(const std::string& file, const std::string& text) {
  const auto until_ns = monotonic_ns() + 60'000'000'000;
  while (monotonic_ns() < until_ns) {
    const auto out = read_file(file);
    if (out.ok() && out->find(text) != std::string::npos) return true;
    usleep(20'000);
  }
  return false;
}

/// The exit code, or 128 and the signal that ended it.
inline int end_with_signal(pid_t id, int signal) {
  kill(id, signal);
  int status = 0;
  waitpid(id, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace warpmark::apps
