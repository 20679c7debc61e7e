#include "workloads/feeding/samples.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "workloads/feeding/sample_files.h"

namespace warpmark::workloads {
namespace {

namespace fs = std::filesystem;

}  // namespace

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

Result<std::unique_ptr<SampleFiles>> SampleFiles::make(const SampleShape& shape, const fs::path& folder) {
  std::string name = (folder / "warpmark-samples-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return environment_error("cannot make a folder in " + folder.string() + ": " + std::strerror(errno),
                             "--set folder= names another place");
  }
  auto made = shape.is_picture() ? make_picture_files(shape, name) : make_word_files(shape, name);
  if (made.ok()) {
    (*made)->folder_ = name;
  } else {
    std::error_code ignored;
    fs::remove_all(name, ignored);
  }
  return made;
}

SampleFiles::~SampleFiles() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace warpmark::workloads
