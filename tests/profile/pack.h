// Packs text as gzip and zstandard, for tests of what unpacks them.
#pragma once

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <string>

namespace warpmark::profile::test {

inline std::string gzip(std::string text) {
  std::string packed(text.size() + 4096, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<std::uint8_t*>(text.data());
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
  stream.avail_out = static_cast<std::uint32_t>(packed.size());
  isal_deflate_stateless(&stream);
  packed.resize(stream.total_out);
  return packed;
}

inline std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

}  // namespace warpmark::profile::test
