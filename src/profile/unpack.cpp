// Formats: RFC 1952 (gzip members follow one another) and RFC 8878 (zstandard frames likewise).
#include "profile/unpack.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace warpmark::profile {
namespace {

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

}  // namespace

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

}  // namespace warpmark::profile
