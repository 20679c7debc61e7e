#include "http/content_decoder.h"

#include <isa-l/igzip_lib.h>

#include <cstdint>

#include "base/text.h"

namespace warpmark::http {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;

bool is_gzip(std::string_view encoding) { return encoding == "gzip" || encoding == "x-gzip"; }

}  // namespace

ContentDecoder::ContentDecoder(std::string_view encoding) : encoding_(encoding) {
  if (is_gzip(encoding) || encoding == "deflate") {
    state_ = std::make_unique<inflate_state>();
    piece_.resize(kPieceBytes);
  } else {
    problem_ = "Content-Encoding '" + encoding_.substr(0, 40) + "' is not decoded (gzip and deflate are)";
  }
}

ContentDecoder::~ContentDecoder() = default;

/// "deflate" is zlib's format by the standard, and bare deflate data from some servers.
void ContentDecoder::begin(char first) {
  isal_inflate_init(state_.get());
  const bool zlib = (static_cast<unsigned char>(first) & 0x0F) == 8;
  state_->crc_flag = is_gzip(encoding_) ? ISAL_GZIP : zlib ? ISAL_ZLIB : ISAL_DEFLATE;
  begun_ = true;
}

bool ContentDecoder::decode(std::string_view bytes, const std::function<void(std::string_view)>& take) {
  if (!problem_.empty()) return false;
  while (!bytes.empty()) {
    if (!begun_) begin(bytes.front());
    state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));  // it only reads
    state_->avail_in = static_cast<std::uint32_t>(bytes.size());
    do {
      state_->next_out = reinterpret_cast<std::uint8_t*>(piece_.data());
      state_->avail_out = static_cast<std::uint32_t>(piece_.size());
      if (const int code = isal_inflate(state_.get()); code < 0) {
        problem_ = "the " + encoding_ + " data is damaged (igzip error " + std::to_string(code) + ")";
        return false;
      }
      const std::size_t got = piece_.size() - state_->avail_out;
      if (got > 0) take({piece_.data(), got});
    } while (state_->avail_out == 0);
    const std::size_t left = state_->avail_in;
    if (state_->block_state != ISAL_BLOCK_FINISH || left == bytes.size()) return true;
    begun_ = false;  // members may follow one another
    bytes.remove_prefix(bytes.size() - left);
  }
  return true;
}

std::unique_ptr<ContentDecoder> content_decoder_of(const Headers& headers) {
  const std::string* given = find_header(headers, "content-encoding");
  const std::string encoding = given == nullptr ? "" : ascii_lower(trim(*given));
  return encoding.empty() || encoding == "identity" ? nullptr : std::make_unique<ContentDecoder>(encoding);
}

}  // namespace warpmark::http
