#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/processes/reaper.h"

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
/// while the program's output is read. /dev/null where there is none to give.
class InputFile {
 public:
  InputFile() = default;
  ~InputFile() {
    for (const int fd : {fd_, master_}) {
      if (fd >= 0) ::close(fd);
    }
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] Status fill(std::string_view text, bool like_terminal) {
    if (text.empty() && like_terminal && ::isatty(STDIN_FILENO) == 1 && open_terminal()) return {};
    fd_ = text.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : ::memfd_create("input", MFD_CLOEXEC);
    if (fd_ >= 0 && text.empty()) return {};
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
  /// A pseudo-terminal in which somebody has typed nothing but ends of input (pty(7), termios(3): VEOF).
  bool open_terminal() {
    constexpr std::string_view kEnds = "\x04\x04\x04\x04\x04\x04\x04\x04";
    std::array<char, 64> name{};
    winsize size{};
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) return false;
    if (::ptsname_r(master_, name.data(), name.size()) != 0) return false;
    if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) ::ioctl(master_, TIOCSWINSZ, &size);
    if (::write(master_, kEnds.data(), kEnds.size()) < 0) return false;
    fd_ = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd_ >= 0;
  }

  int fd_ = -1;
  int master_ = -1;  ///< of the terminal
};

bool stopped(const ProcessOptions& options) {
  return (options.interrupted != nullptr && options.interrupted->load()) ||
         (options.should_stop && options.should_stop());
}

/// Until the deadline, at most 100 ms where it may be interrupted.
int patience_ms(std::int64_t deadline, const ProcessOptions& options) {
  const bool may_be_stopped = options.interrupted != nullptr || options.should_stop;
  const std::int64_t left = (deadline - monotonic_ns()) / 1'000'000 + 1;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, may_be_stopped ? 100 : 60'000));
}

}  // namespace

Result<ProcessOutput> run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  WM_CHECK(!words.empty());
  Pipe out, err;
  if (!out.open() || !err.open()) return environment_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  InputFile input;
  WM_TRY(input.fill(options.input, options.like_terminal));
  WM_ASSIGN(auto child, Reaped::start(words, {.descriptors = {{input.fd(), STDIN_FILENO},
                                                              {out.write_end, STDOUT_FILENO},
                                                              {err.write_end, STDERR_FILENO}},
                                              .directory = options.directory,
                                              .environment = options.environment,
                                              .own_group = options.own_group,
                                              .interrupted = options.interrupted,
                                              .grace_s = options.grace_s}));
  out.close_write();
  err.close_write();

  const std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(options.deadline_s * 1e9);
  ProcessOutput output;
  // What it leaves behind may hold its output for ever: once it has ended, what is there now is all.
  for (std::optional<ProcessEnding> ended; !ended || out.read_end >= 0 || err.read_end >= 0;) {
    const bool overdue = monotonic_ns() >= deadline;
    if (ended && overdue) break;
    const bool interrupted = !ended && stopped(options);
    if (interrupted || overdue) {
      child.end();
      if (interrupted) return environment_error(words[0] + " was interrupted");
      return with_code(environment_error(fmt::format("{} did not end within {:g} s", words[0], options.deadline_s)),
                       ErrorCode::deadline);
    }
    std::array<pollfd, 3> ends{
        {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}, {child.ended_descriptor(), POLLIN, 0}}};
    const int ready = ::poll(ends.data(), ends.size(), ended ? 0 : patience_ms(deadline, options));
    if (ready < 0) continue;
    if (ready == 0 && ended) break;
    if (ends[0].revents != 0) drain(out, output.out, options.output_cap_bytes, options.on_out);
    if (ends[1].revents != 0) drain(err, output.err, options.output_cap_bytes, options.on_err);
    if (ends[2].revents == 0 || !(ended = child.poll())) continue;
    output.exit_code = ended->exit_code;
    output.wall_s = ended->wall_s;
    output.cpu_s = ended->cpu_s;
    output.peak_memory_bytes = ended->peak_memory_bytes;
  }
  return output;
}

Error replace_process(std::vector<std::string> words,
                      const std::vector<std::pair<std::string, std::string>>& environment) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  return environment_error(fmt::format("cannot start {}: {}", words.front(), std::strerror(errno)),
                           "check the spelling, and that it is installed and on PATH");
}

Result<std::filesystem::path> own_executable() {
  std::error_code code;
  auto path = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return environment_error("cannot find this program: " + code.message(), "is /proc mounted?");
  return path;
}

}  // namespace warpmark
