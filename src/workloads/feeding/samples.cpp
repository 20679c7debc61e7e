#include "workloads/feeding/samples.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace warpmark::workloads {

namespace fs = std::filesystem;

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<unsigned char*>(data_), size_);
}

Status MappedFile::open(const fs::path& path) {
  const auto failed = [&] { return environment_error("cannot map " + path.string() + ": " + std::strerror(errno)); };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || ::fstat(file, &about) != 0 || about.st_size == 0) {
    const Error error = failed();
    if (file >= 0) ::close(file);
    return error;
  }
  void* data = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_SHARED, file, 0);
  const Error error = failed();
  ::close(file);
  if (data == MAP_FAILED) return error;
  data_ = static_cast<const unsigned char*>(data);
  size_ = static_cast<std::size_t>(about.st_size);
  return {};
}

Result<std::unique_ptr<SampleFiles>> SampleFiles::make(const SampleShape& shape, const fs::path& parent) {
  WM_ASSIGN(auto folder, ScratchFolder::make("samples", parent));
  WM_ASSIGN(auto files,
            shape.is_picture() ? make_picture_files(shape, folder.path()) : make_word_files(shape, folder.path()));
  files->folder_ = std::move(folder);
  return files;
}

}  // namespace warpmark::workloads
