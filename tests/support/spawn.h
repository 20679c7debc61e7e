// What an emulator of another processor does not pass on.
#pragma once

#include <spawn.h>
#include <sys/wait.h>

namespace warpmark::testing_support {

/// Whether a program that cannot be started is told. qemu-user makes vfork() a fork(), so that the memory in which the
/// child of posix_spawn() leaves its error is not the parent's.
inline bool spawn_tells_errors() {
  char name[] = "/proc/no-such-program";
  char* words[] = {name, nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, name, nullptr, nullptr, words, nullptr) != 0) return true;
  waitpid(child, nullptr, 0);
  return false;
}

}  // namespace warpmark::testing_support
