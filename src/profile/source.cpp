#include "profile/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/untrusted/input.h"
#include "profile/unpack.h"

namespace warpmark::profile {
namespace {

/// Calls read_some of the wrapped bytes directly: the packed side of a source.
class FileBytes final : public PackedBytes {
 public:
  explicit FileBytes(int descriptor) : descriptor_(descriptor) {}
  ~FileBytes() override { ::close(descriptor_); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  Result<std::size_t> read_some(std::span<char> into) override {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // Linux reads at most 2 GiB a call
    for (;;) {
      const ssize_t got = ::read(descriptor_, into.data(), std::min(into.size(), kMostAtOnce));
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return environment_error(std::string("cannot read: ") + std::strerror(errno));
    }
  }

 private:
  int descriptor_;
};

class MemoryBytes final : public PackedBytes {
 public:
  explicit MemoryBytes(std::string_view bytes) : bytes_(bytes) {}
  Result<std::size_t> read_some(std::span<char> into) override {
    const std::size_t count = std::min(into.size(), bytes_.size());
    std::copy_n(bytes_.data(), count, into.data());
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
};

/// Gives back the first bytes, which were read to tell the packing, before the rest.
class Rewound final : public PackedBytes {
 public:
  Rewound(std::string head, std::unique_ptr<PackedBytes> rest) : head_(std::move(head)), rest_(std::move(rest)) {}
  Result<std::size_t> read_some(std::span<char> into) override {
    if (used_ == head_.size()) return rest_->read_some(into);
    const std::size_t count = std::min(into.size(), head_.size() - used_);
    std::copy_n(head_.data() + used_, count, into.data());
    used_ += count;
    return count;
  }

 private:
  std::string head_;
  std::size_t used_ = 0;
  std::unique_ptr<PackedBytes> rest_;
};

class UnpackedSource final : public ByteSource {
 public:
  UnpackedSource(std::filesystem::path path, std::int64_t stored_bytes, std::unique_ptr<PackedBytes> bytes) {
    path_ = std::move(path);
    stored_bytes_ = stored_bytes;
    std::string head(4, '\0');
    std::size_t have = 0;
    while (have < head.size()) {
      const auto got = bytes->read_some({head.data() + have, head.size() - have});
      if (!got.ok() || *got == 0) break;  // an error comes again with the first read
      have += *got;
    }
    head.resize(have);
    packing_ = packing_of(head);
    unpacker_ = make_unpacker(packing_, std::make_unique<Rewound>(std::move(head), std::move(bytes)));
  }

 private:
  Result<std::size_t> read_some(std::span<char> into) override {
    WM_ASSIGN(const std::size_t got, unpacker_->unpack(into));
    if (got == 0) damage_ = unpacker_->damage(), cut_ = unpacker_->is_cut();
    return got;
  }

  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace

Result<std::string_view> ByteSource::head(std::size_t bytes) {
  while (head_.size() - head_used_ < bytes) {
    const std::size_t have = head_.size();
    head_.resize(have + std::max<std::size_t>(bytes, 1 << 12));
    const auto got = read_some({head_.data() + have, head_.size() - have});
    head_.resize(have + (got.ok() ? *got : 0));
    if (!got.ok()) return got.error();
    if (*got == 0) break;
  }
  return std::string_view(head_).substr(head_used_, bytes);
}

Result<std::size_t> ByteSource::read(std::span<char> into) {
  std::size_t have = std::min(into.size(), head_.size() - head_used_);
  std::copy_n(head_.data() + head_used_, have, into.data());
  head_used_ += have;
  if (head_used_ == head_.size()) {
    head_ = {};
    head_used_ = 0;
  }
  while (have < into.size()) {
    WM_ASSIGN(const std::size_t got, read_some(into.subspan(have)));
    if (got == 0) break;
    have += got;
  }
  return have;
}

Result<std::unique_ptr<ByteSource>> open_source(const std::filesystem::path& path) {
  WM_ASSIGN(const int descriptor, open_input(path));
  auto bytes = std::make_unique<FileBytes>(descriptor);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) {
    return read_error(path, errno);
  }
  (void)::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);  // only a hint: what it returns does not matter
  const std::int64_t size = S_ISREG(status.st_mode) ? status.st_size : -1;
  return std::unique_ptr<ByteSource>(std::make_unique<UnpackedSource>(path, size, std::move(bytes)));
}

std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::filesystem::path name) {
  return std::make_unique<UnpackedSource>(std::move(name), static_cast<std::int64_t>(bytes.size()),
                                          std::make_unique<MemoryBytes>(bytes));
}

Result<std::string> read_all(ByteSource& source, std::size_t cap_bytes) {
  std::string text;
  constexpr std::size_t kStep = 1 << 16;
  for (;;) {
    const std::size_t have = text.size();
    text.resize(have + std::max(kStep, have / 2));
    WM_ASSIGN(const std::size_t got, source.read({text.data() + have, text.size() - have}));
    text.resize(have + got);
    if (got == 0) return text;
    if (text.size() > cap_bytes) {
      return data_error(
          source.path().string() + " is larger than " + std::to_string(cap_bytes) + " bytes, too much for its format",
          "is it the right file?");
    }
  }
}

}  // namespace warpmark::profile
