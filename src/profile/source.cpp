#include "profile/source.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/untrusted/input.h"

namespace warpmark::profile {
namespace {

/// Bytes as stored.
class PackedBytes {
 public:
  virtual ~PackedBytes() = default;
  /// At least one byte unless at the end.
  [[nodiscard]] virtual Result<std::size_t> read_some(std::span<char> into) = 0;
};

/// ISA-L's igzip for gzip (RFC 1952: members follow one another), libzstd for zstandard (RFC 8878: frames likewise),
/// nothing for plain bytes.
/// Not thread safe.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// At least one byte unless at the end, or where the archive is damaged: then damage() says so.
  [[nodiscard]] virtual Result<std::size_t> unpack(std::span<char> into) = 0;
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// The damage is that the end is missing.
  [[nodiscard]] bool is_cut() const { return cut_; }

 protected:
  std::string damage_;
  bool cut_ = false;
};

constexpr std::size_t kInputBytes = 1 << 18;

class Plain final : public Unpacker {
 public:
  explicit Plain(std::unique_ptr<PackedBytes> packed) : packed_(std::move(packed)) {}
  Result<std::size_t> unpack(std::span<char> into) override { return packed_->read_some(into); }

 private:
  std::unique_ptr<PackedBytes> packed_;
};

class Gzip final : public Unpacker {
 public:
  explicit Gzip(std::unique_ptr<PackedBytes> packed)
      : packed_(std::move(packed)), input_(kInputBytes), state_(std::make_unique<inflate_state>()) {
    start_member();
  }

  Result<std::size_t> unpack(std::span<char> into) override {
    while (!over_ && !into.empty()) {
      if (state_->avail_in == 0) WM_TRY(refill());
      if (state_->block_state == ISAL_BLOCK_FINISH && !next_member()) break;
      const std::size_t room = std::min<std::size_t>(into.size(), std::size_t{1} << 30);
      const bool starved = state_->avail_in == 0;
      state_->next_out = reinterpret_cast<std::uint8_t*>(into.data());
      state_->avail_out = static_cast<std::uint32_t>(room);
      const int code = isal_inflate(state_.get());
      const std::size_t got = room - state_->avail_out;
      if (code < 0) {
        stop("the gzip data is damaged (igzip error " + std::to_string(code) + ")");
      } else if (starved && got == 0 && state_->block_state != ISAL_BLOCK_FINISH) {
        stop("the gzip data ends in the middle");
        cut_ = true;
      }
      if (got > 0) return got;
    }
    return std::size_t{0};
  }

 private:
  void start_member() {
    const auto* next_in = state_->next_in;
    const auto avail_in = state_->avail_in;
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    state_->next_in = const_cast<std::uint8_t*>(next_in);
    state_->avail_in = avail_in;
  }

  Status refill() {
    WM_ASSIGN(const std::size_t got, packed_->read_some(input_));
    state_->next_in = reinterpret_cast<std::uint8_t*>(input_.data());
    state_->avail_in = static_cast<std::uint32_t>(got);
    return {};
  }

  /// At the end of a member: true if another one begins. Zero bytes after the last one are padding of tapes.
  bool next_member() {
    if (state_->avail_in == 0) {
      over_ = true;
    } else if (*state_->next_in == 0x1F) {
      start_member();
      return true;
    } else {
      stop(*state_->next_in == 0 ? "" : "bytes that are no gzip data follow the gzip data");
    }
    return false;
  }

  void stop(std::string why) {
    over_ = true;
    damage_ = std::move(why);
  }

  std::unique_ptr<PackedBytes> packed_;
  std::vector<char> input_;
  std::unique_ptr<inflate_state> state_;
  bool over_ = false;
};

class Zstd final : public Unpacker {
 public:
  explicit Zstd(std::unique_ptr<PackedBytes> packed)
      : packed_(std::move(packed)), storage_(kInputBytes), stream_(ZSTD_createDStream()) {
    // Frames of --ultra --long=31 need a 2 GiB window; 1 GiB is refused by its name instead of filling the memory.
    (void)ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, 30);
  }

  Result<std::size_t> unpack(std::span<char> into) override {
    while (!over_ && !into.empty()) {
      bool at_end = false;
      if (input_.pos == input_.size) {
        WM_ASSIGN(const std::size_t got, packed_->read_some(storage_));
        input_ = {storage_.data(), got, 0};
        at_end = got == 0;
      }
      ZSTD_outBuffer output{into.data(), into.size(), 0};
      const std::size_t code = ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_isError(code) != 0U) {
        over_ = true;
        damage_ = std::string("the zstandard data is damaged: ") + ZSTD_getErrorName(code);
      } else if (at_end && output.pos == 0) {
        over_ = true;
        cut_ = in_frame_;
        if (in_frame_) damage_ = "the zstandard data ends in the middle";
      } else {
        in_frame_ = code != 0;
      }
      if (output.pos > 0) return output.pos;
    }
    return std::size_t{0};
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<PackedBytes> packed_;
  std::vector<char> storage_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  bool over_ = false;
  bool in_frame_ = false;
};

/// "gzip", "zstd" or "" by the first four bytes.
std::string packing_of(std::string_view head) {
  if (head.starts_with("\x1F\x8B")) return "gzip";
  if (head.starts_with("\x28\xB5\x2F\xFD")) return "zstd";
  return "";
}

std::unique_ptr<Unpacker> make_unpacker(std::string_view packing, std::unique_ptr<PackedBytes> packed) {
  if (packing == "gzip") return std::make_unique<Gzip>(std::move(packed));
  if (packing == "zstd") return std::make_unique<Zstd>(std::move(packed));
  return std::make_unique<Plain>(std::move(packed));
}

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
