#include "profile/writers/text_file.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/files.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;

}  // namespace

Result<TextFile> TextFile::create(const std::filesystem::path& path) {
  TextFile file;
  file.path_ = path;
  file.temporary_ = temporary_for(path);
  file.file_.reset(std::fopen(file.temporary_.c_str(), "wbe"));
  if (file.file_ == nullptr) return write_error(path, errno);
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
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) return write_error(path_, errno);
  text.clear();
  return {};
}

Status TextFile::finish() {
  WM_TRY(flush());
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) return write_error(path_, errno);
  file_.reset();
  return put_in_place(temporary_, path_);
}

}  // namespace warpmark::profile
