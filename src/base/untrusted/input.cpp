#include "base/untrusted/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"

namespace warpmark {
namespace {

/// Closes on every path out.
struct Opened {
  int fd = -1;
  ~Opened() {
    if (fd >= 0) ::close(fd);
  }
};

/// Whether there is something to be read from the pipe, or somebody holds its other end, who may have been started just
/// now. tee(2) reads without taking away.
bool has_writer(int pipe) {
  constexpr int kAttempts = 20;
  std::array<int, 2> copy{};
  if (::pipe2(copy.data(), O_CLOEXEC) != 0) return true;
  const Opened out{copy[0]}, in{copy[1]};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const ssize_t got = ::tee(pipe, in.fd, 1, SPLICE_F_NONBLOCK);
    if (got != 0) return true;
    ::usleep(20'000);
  }
  return false;
}

}  // namespace

Result<int> open_input(const std::filesystem::path& path) {
  // A pipe without a writer would hold up open() for ever.
  Opened file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat facts {};
  if (file.fd < 0 || ::fstat(file.fd, &facts) != 0) return read_error(path, errno);
  if (S_ISDIR(facts.st_mode)) return read_error(path, EISDIR);
  if (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode)) {
    return data_error("cannot read " + path.string() + ": it is a device", "name a file, or a pipe that ends");
  }
  if (S_ISFIFO(facts.st_mode)) {
    if (!has_writer(file.fd)) {
      return data_error("cannot read " + path.string() + ": the pipe has no writer", "start its writer first");
    }
    ::fcntl(file.fd, F_SETFL, ::fcntl(file.fd, F_GETFL) & ~O_NONBLOCK);
  }
  return std::exchange(file.fd, -1);
}

}  // namespace warpmark
