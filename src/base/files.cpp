#include "base/files.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "base/untrusted/input.h"

extern char** environ;

namespace warpmark {
namespace {

/// Closes on every path out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

/// A shell that removes a folder when we are killed and can remove nothing any more: it waits at a socket whose other
/// end only we hold. Nothing happens where no shell can be started.
class FolderReaper {
 public:
  explicit FolderReaper(const std::string& folder) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);  // neither Ctrl-C nor a closed terminal reaches it
    std::string shell = "/bin/sh", option = "-c", script = kScript, name = "reaper", target = folder;
    char* words[] = {shell.data(), option.data(), script.data(), name.data(), target.data(), nullptr};
    if (::posix_spawn(&shell_, shell.c_str(), &actions, &attributes, words, environ) != 0) shell_ = -1;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    socket_ = ends[0];
  }
  FolderReaper(FolderReaper&& other) noexcept
      : shell_(std::exchange(other.shell_, -1)), socket_(std::exchange(other.socket_, -1)) {}
  FolderReaper& operator=(FolderReaper&&) = delete;
  /// The folder is gone already.
  ~FolderReaper() {
    if (socket_ >= 0) (void)!::send(socket_, "\n", 1, MSG_NOSIGNAL);
    if (socket_ >= 0) ::close(socket_);
    while (shell_ > 0 && ::waitpid(shell_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  // Twice, as a program that is being killed too may still have written into it.
  static constexpr const char* kScript =
      "trap '' HUP INT QUIT TERM\n"
      "read -r word && exit\n"
      "rm -rf -- \"$1\" \"$1.removed\" && sleep 1\n"
      "rm -rf -- \"$1\" \"$1.removed\"\n";

  pid_t shell_ = -1;
  int socket_ = -1;
};

/// Those that are there; lives as long as the program, whose end it must outlive.
struct ScratchFolders {
  std::mutex lock;
  std::map<std::filesystem::path, FolderReaper> all;
};
ScratchFolders& scratch_folders() {
  static auto* const all = new ScratchFolders;
  return *all;
}

/// Another thread may put files in while this one takes them out: under its new name it does not find the folder.
void remove_with_contents(const std::filesystem::path& folder) {
  const std::filesystem::path gone = folder.string() + ".removed";
  const bool renamed = ::rename(folder.c_str(), gone.c_str()) == 0;
  std::error_code ignored;  // who cannot remove it cannot do anything else about it
  std::filesystem::remove_all(renamed ? gone : folder, ignored);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// What must not be replaced by a file: a pipe, a terminal, and a link to what has no path or is not there, as
/// /dev/stdout where the standard output is closed, deleted or outside of a changed root.
bool is_stream(const std::filesystem::path& path) {
  std::error_code none, unresolved;
  const auto there = std::filesystem::status(path, none);
  if (std::filesystem::is_symlink(path, none)) {
    [[maybe_unused]] const auto file = std::filesystem::canonical(path, unresolved);
  }
  return unresolved || std::filesystem::is_character_file(there) || std::filesystem::is_fifo(there) ||
         std::filesystem::is_block_file(there) || std::filesystem::is_socket(there);
}

/// What is written and renamed: the file that a link names, not the link.
std::filesystem::path target_of(const std::filesystem::path& path) {
  std::error_code none;
  const bool link = std::filesystem::is_regular_file(path, none) && std::filesystem::is_symlink(path, none);
  return link ? std::filesystem::canonical(path, none) : path;
}

int open_stream(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

Status copy_into_stream(const std::filesystem::path& from, const std::filesystem::path& path) {
  const Descriptor file{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return read_error(from, errno);
  const Descriptor stream{open_stream(path)};
  if (stream.fd < 0) return write_error(path, errno);
  std::string chunk(1 << 16, '\0');
  for (;;) {
    const ssize_t got = ::read(file.fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return read_error(from, errno);
    if (got == 0) return {};
    if (!write_all(stream.fd, {chunk.data(), static_cast<std::size_t>(got)})) return write_error(path, errno);
  }
}

/// 0, or an errno.
int write_and_sync(const Descriptor& file, std::string_view bytes) {
  if (file.fd < 0 || !write_all(file.fd, bytes) || ::fsync(file.fd) != 0) return errno;
  return 0;
}

/// The file has its name only when it is whole: nothing is left where we are killed meanwhile. 0, or an errno, also
/// where the file system cannot do that.
int write_without_a_name(const std::filesystem::path& path, std::string_view bytes) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const Descriptor file{::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644)};
  if (const int code = write_and_sync(file, bytes); code != 0) return code;
  ::unlink(path.c_str());
  const std::string unnamed = "/proc/self/fd/" + std::to_string(file.fd);  // as open(2) shows
  return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

int write_by_name(const std::filesystem::path& path, std::string_view bytes) {
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  return write_and_sync(file, bytes);
}

constexpr std::int64_t kMostOfUnknownSize = 64 << 20;

Error too_large(const std::filesystem::path& path, std::int64_t cap_bytes) {
  return data_error(path.string() + " is larger than " + std::to_string(cap_bytes) + " bytes", "is it the right file?");
}

Status write_stream(const std::filesystem::path& path, std::string_view bytes) {
  const Descriptor stream{open_stream(path)};
  if (stream.fd < 0 || !write_all(stream.fd, bytes)) return write_error(path, errno);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::int64_t cap_bytes) {
  WM_ASSIGN(const int opened, open_input(path));
  const Descriptor file{opened};
  std::string bytes;
  struct stat facts {};
  if (::fstat(file.fd, &facts) != 0) return read_error(path, errno);
  if (facts.st_size > cap_bytes) return too_large(path, cap_bytes);
  if (facts.st_size == 0) cap_bytes = std::min(cap_bytes, kMostOfUnknownSize);
  bytes.reserve(static_cast<std::size_t>(facts.st_size));
  std::string chunk(1 << 16, '\0');
  for (;;) {
    const ssize_t got = ::read(file.fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return read_error(path, errno);
    if (got == 0) return bytes;
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(bytes.size()) > cap_bytes) return too_large(path, cap_bytes);
  }
}

Error write_error(const std::filesystem::path& path, int code) {
  if (code == ENOENT) {
    if (const Status folder = check_folder_of(path); !folder.ok()) return folder.error();
  }
  std::string hint;
  if (code == EACCES || code == EROFS) hint = "choose a place you may write to, or change the permissions";
  if (code == EFBIG) hint = "raise the limit of the size of files: ulimit -f";
  if (code == ENOSPC || code == EDQUOT) hint = "free some disk space or choose another place";
  return environment_error("cannot write " + path.string() + ": " + std::strerror(code), hint);
}

Status write_file(const std::filesystem::path& path, std::string_view bytes) {
  if (is_stream(path)) return write_stream(path, bytes);
  const auto temporary = temporary_for(path);
  int code = write_without_a_name(temporary, bytes);
  if (code != 0) code = write_by_name(temporary, bytes);
  if (code == 0 && ::rename(temporary.c_str(), target_of(path).c_str()) != 0) code = errno;
  if (code == 0) return {};
  ::unlink(temporary.c_str());
  return write_error(path, code);
}

std::filesystem::path temporary_for(const std::filesystem::path& path) {
  std::error_code none;
  auto target = target_of(path);
  if (is_stream(path)) {
    target = std::filesystem::temp_directory_path(none) / ("warpmark-" + path.filename().string());
  }
  return target.string() + ".tmp" + std::to_string(::getpid());
}

Status put_in_place(const std::filesystem::path& temporary, const std::filesystem::path& path) {
  if (is_stream(path)) {
    const Status copied = copy_into_stream(temporary, path);
    ::unlink(temporary.c_str());
    return copied;
  }
  if (::rename(temporary.c_str(), target_of(path).c_str()) == 0) return {};
  const int code = errno;
  ::unlink(temporary.c_str());
  return write_error(path, code);
}

Status make_folder(const std::filesystem::path& path, const std::string& hint) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (!failure) return {};
  return environment_error("cannot create " + path.string() + ": " + failure.message(), hint);
}

Status make_named_folder(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::path named = path;
  if (!named.has_filename()) named = named.parent_path();  // "results/" is the folder "results"
  if (std::filesystem::is_directory(named, failure)) return {};
  WM_TRY(check_folder_of(named));
  return make_folder(named, "choose another folder");
}

Status check_folder_of(const std::filesystem::path& path) {
  std::error_code failure;
  const auto folder = std::filesystem::absolute(path, failure).parent_path();
  if (failure || std::filesystem::exists(folder, failure)) return {};  // what is there tells why it cannot be used
  return environment_error("cannot write " + path.string() + ": the folder " + folder.string() + " does not exist",
                           "make it with: mkdir -p " + shell_quote(folder.string()));
}

Status check_writable(const std::filesystem::path& path) {
  if (path.empty()) return usage_error("the name of a file to write is empty", "name a file");
  if (path == "-") {
    return usage_error("'-' cannot be written here", "it is standard output for --json and --html; ./- names a file");
  }
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  if (std::filesystem::is_directory(there)) {
    return environment_error("cannot write " + path.string() + ": it is a folder", "name a file in it");
  }
  WM_TRY(check_folder_of(path));
  // A file is replaced in its folder, that of what a link names; a device or a pipe is written into.
  std::filesystem::path asked = path;
  if (!std::filesystem::exists(there)) asked = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::is_regular_file(there)) asked = std::filesystem::canonical(path, none).parent_path();
  if (access(asked.c_str(), W_OK) == 0) return {};
  return environment_error("cannot write " + path.string() + ": " + std::strerror(errno),
                           "choose a file in a folder that you can write");
}

Status check_output_folder(const std::filesystem::path& folder) {
  std::error_code none;
  std::filesystem::path asked = folder;
  if (!asked.has_filename()) asked = asked.parent_path();
  const auto there = std::filesystem::status(asked, none);
  if (!std::filesystem::exists(there)) {
    // Whether it can be made is found by making it; it is made again when there is something to put in.
    WM_TRY(make_named_folder(asked));
    std::filesystem::remove(asked, none);
    return {};
  }
  if (!std::filesystem::is_directory(there)) {
    return environment_error("cannot write into " + folder.string() + ": it is no folder", "choose another folder");
  }
  if (access(asked.c_str(), W_OK) == 0) return {};
  return environment_error("cannot write into " + folder.string() + ": " + std::strerror(errno),
                           "choose another folder");
}

Error read_error(const std::filesystem::path& path, int code) {
  const std::string what = "cannot read " + path.string() + ": " + std::strerror(code);
  const bool leads_nowhere = code == ENOENT || code == ENOTDIR || code == ELOOP || code == ENAMETOOLONG;
  if (leads_nowhere) return data_error(what, "check the path");
  if (code == EISDIR) return data_error(what, "name a file in it");
  return environment_error(what, code == EACCES ? "change its permissions, or read it as another user" : "");
}

Result<ScratchFolder> ScratchFolder::make(std::string_view kind, const std::filesystem::path& parent) {
  std::error_code code;
  const auto within = parent.empty() ? std::filesystem::temp_directory_path(code) : parent;
  const std::lock_guard lock(scratch_folders().lock);
  std::string name = (within / ("warpmark-" + std::string(kind) + "-XXXXXX")).string();
  if (code || ::mkdtemp(name.data()) == nullptr) {
    return environment_error(
        "cannot make a folder in " + (within.empty() ? "TMPDIR" : within.string()) + ": " +
            (code ? code.message() : std::strerror(errno)),
        parent.empty() ? "name a folder that you can write in TMPDIR" : "name a folder that you can write");
  }
  scratch_folders().all.emplace(name, FolderReaper(name));
  return ScratchFolder(name);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  const std::lock_guard lock(scratch_folders().lock);
  remove_with_contents(path_);
  scratch_folders().all.erase(path_);
}

void remove_scratch_folders() {
  scratch_folders().lock.lock();  // for good: what is named there must stay until the end
  for (const auto& [folder, reaper] : scratch_folders().all) remove_with_contents(folder);
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace warpmark
