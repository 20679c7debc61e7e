#include "profile/writers/text_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/files.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;

Error text_file_error(const std::filesystem::path& path, int code) {
  if (code == ENOENT) {
    if (const Status folder = check_folder_of(path); !folder.ok()) return folder.error();
  }
  return environment_error("cannot write " + path.string() + ": " + std::strerror(code),
                           code == ENOSPC ? "free some disk space or choose another place" : "");
}

}  // namespace

Result<TextFile> TextFile::create(const std::filesystem::path& path) {
  TextFile file;
  file.path_ = path;
  file.temporary_ = temporary_for(path);
  file.file_.reset(std::fopen(file.temporary_.c_str(), "wbe"));
  if (file.file_ == nullptr) return text_file_error(path, errno);
  return file;
}

TextFile::~TextFile() {
  if (file_ == nullptr) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

Status TextFile::flush_if_large() { return text.size() < kFlushBytes ? Status() : flush(); }

Status TextFile::flush() {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) return text_file_error(path_, errno);
  text.clear();
  return {};
}

Status TextFile::finish() {
  WM_TRY(flush());
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) return text_file_error(path_, errno);
  file_.reset();
  return put_in_place(temporary_, path_);
}

}  // namespace warpmark::profile
