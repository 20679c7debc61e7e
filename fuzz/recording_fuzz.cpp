// warpmark's own recordings: as they are, and with every chunk's checksum made to fit, as mutated chunks would else all
// be left out before anything looks into them.
#include <cstring>
#include <string>

#include "profile/recording/format.h"
#include "profile/recording/writer.h"
#include "read_profile.h"

namespace {

namespace recording = warpmark::profile::recording;

std::string with_checksums(std::string bytes) {
  recording::ChunkHeader header;
  for (std::size_t at = 0; at + sizeof header <= bytes.size();) {
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::size_t payload = at + sizeof header;
    if (header.magic != recording::kChunkMagic || header.payload_bytes > bytes.size() - payload) break;
    header.checksum = recording::crc32(std::string_view(bytes).substr(payload, header.payload_bytes));
    std::memcpy(bytes.data() + at, &header, sizeof header);
    at = payload + header.payload_bytes;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  warpmark::fuzz::read_profile("warpmark", bytes);
  const std::string whole = with_checksums(std::string(bytes));
  warpmark::fuzz::read_profile("warpmark", whole);
  if (warpmark::fuzz::is_stretched(bytes)) {
    warpmark::fuzz::read_profile("warpmark", warpmark::fuzz::repeated(whole, 1 << 20));
  }
  return 0;
}
