#include "profile/recording/join.h"

#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "profile/recording/format.h"
#include "profile/recording/writer.h"

namespace warpmark::profile::recording {
namespace {

namespace fs = std::filesystem;

constexpr int kLevel = 1;  // a third of the size already, at hundreds of MB/s

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

Error failed(const char* what, const fs::path& path) {
  return environment_error(std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno),
                           "is there room, and may you write there?");
}

class PackedFile {
 public:
  /// `mode` as fopen takes it: what is appended is a frame of its own.
  Status open(const fs::path& path, const char* mode) {
    path_ = path;
    file_.reset(std::fopen(path.c_str(), mode));
    if (!file_) return failed("write", path);
    (void)ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    (void)ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    packed_.resize(ZSTD_CStreamOutSize());
    return {};
  }
  Status write(std::string_view bytes, bool last = false) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    std::size_t left = 1;
    while (left != 0) {
      ZSTD_outBuffer output{packed_.data(), packed_.size(), 0};
      const std::size_t code =
          ZSTD_compressStream2(context_.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(code) != 0U) return internal_error(std::string("zstandard: ") + ZSTD_getErrorName(code));
      if (std::fwrite(packed_.data(), 1, output.pos, file_.get()) != output.pos) return failed("write", path_);
      left = last ? code : input.size - input.pos;
    }
    return {};
  }
  Status finish() {
    WM_TRY(write({}, true));
    return std::fclose(file_.release()) == 0 ? Status() : failed("write", path_);
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  fs::path path_;
  File file_;
  std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
  std::string packed_;
};

/// The next chunk with its header, or nothing where the whole ones end.
std::string_view next_chunk(std::FILE* file, std::string& storage) {
  ChunkHeader header;
  if (std::fread(&header, sizeof header, 1, file) != 1) return {};
  if (header.magic != kChunkMagic || header.payload_bytes > kMaxPayload) return {};
  storage.resize(sizeof header + header.payload_bytes);
  std::memcpy(storage.data(), &header, sizeof header);
  const std::size_t got = std::fread(storage.data() + sizeof header, 1, header.payload_bytes, file);
  const auto payload = std::string_view(storage).substr(sizeof header);
  if (got != header.payload_bytes || crc32(payload) != header.checksum) return {};
  return storage;
}

/// Writes the whole chunks of the parts into `half`, which then becomes `to`.
Status write_parts(std::span<const fs::path> parts, const fs::path& half, const char* mode, const fs::path& to) {
  PackedFile joined;
  WM_TRY(joined.open(half, mode));
  std::string storage;
  for (const auto& part : parts) {
    const File file(std::fopen(part.c_str(), "rb"));
    if (!file) return failed("read", part);
    for (auto chunk = next_chunk(file.get(), storage); !chunk.empty(); chunk = next_chunk(file.get(), storage)) {
      WM_TRY(joined.write(chunk));
    }
  }
  WM_TRY(joined.finish());
  return put_in_place(half, to);
}

}  // namespace

Status join_parts(std::span<const fs::path> parts, const fs::path& to) {
  const fs::path half = temporary_for(to);
  const Status written = write_parts(parts, half, "wb", to);
  std::error_code ignored;
  if (!written.ok()) fs::remove(half, ignored);
  return written;
}

Status append_part(const fs::path& part, const fs::path& to) {
  const fs::path half = temporary_for(to);
  std::error_code failure;
  fs::copy_file(to, half, fs::copy_options::overwrite_existing, failure);
  if (failure) return environment_error("cannot write " + half.string() + ": " + failure.message());
  const Status written = write_parts({&part, 1}, half, "ab", to);
  if (!written.ok()) fs::remove(half, failure);
  return written;
}

}  // namespace warpmark::profile::recording
