#include "base/lines/line_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace warpmark {
namespace {

Error line_file_error(const std::string& what, const std::filesystem::path& path) {
  return environment_error("cannot " + what + " " + path.string() + ": " + std::strerror(errno));
}

}  // namespace

Result<LineFile> LineFile::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0644);
  if (file < 0) return line_file_error("open", path);
  return LineFile(path, file);
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

LineFile::~LineFile() {
  if (file_ >= 0) ::close(file_);
}

bool LineFile::hold() { return ::flock(file_, LOCK_EX | LOCK_NB) == 0; }

Result<std::string> LineFile::read(std::int64_t cap_bytes) {
  WM_ASSIGN(std::string text, read_file(path_, cap_bytes));
  const auto last = text.rfind('\n');
  size_ = last == std::string::npos ? 0 : last + 1;
  if (size_ < text.size()) {
    WM_TRY(shorten(size_));
    text.resize(size_);
  }
  return text;
}

Status LineFile::append(std::string_view line) {
  const std::string bytes = std::string(line) + "\n";
  const auto end = ::lseek(file_, 0, SEEK_END);
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Error failure = line_file_error("write", path_);
      // What the disk took of the line would stand before the next one.
      [[maybe_unused]] const int ignored = end < 0 ? -1 : ::ftruncate(file_, end);
      return failure;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(file_) != 0) return line_file_error("sync", path_);
  size_ += bytes.size();
  return {};
}

Status LineFile::shorten(std::size_t bytes) {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) return line_file_error("shorten", path_);
  size_ = bytes;
  return {};
}

}  // namespace warpmark
