#include "in_child.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/result.h"

namespace warpmark::store {

pid_t start_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  WM_CHECK(child >= 0);
  if (child == 0) ::_exit(body());
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  WM_CHECK(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

namespace {

/// The user stays who it is: a file system takes no files of users that the namespace does not know.
bool enter_own_user_namespace() {
  const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  const auto notify = [](const char* file, const std::string& text) {
    return (std::ofstream(file) << text).flush().good();
  };
  return notify("/proc/self/setgroups", "deny") && notify("/proc/self/uid_map", user + " " + user + " 1") &&
         notify("/proc/self/gid_map", group + " " + group + " 1");
}

}  // namespace

int in_child(const std::function<int()>& body) { return wait_for(start_child(body)); }

bool mount_small_disk(const std::filesystem::path& folder, int kibibytes) {
  if (::unshare(CLONE_NEWNS) != 0 && !enter_own_user_namespace()) return false;
  // Private, so that the mount does not spread to the rest of the machine.
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const std::string options = "size=" + std::to_string(kibibytes) + "k";
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

}  // namespace warpmark::store
