// Packed bytes, and files of any format: what is inside is read by the reader that fits.
#include <string>

#include "profile/read_session.h"
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto packed = warpmark::profile::memory_source(bytes);
  std::string piece(1 << 16, '\0');
  for (std::size_t total = 0; total < (std::size_t{1} << 24);) {  // a bomb is not a fault
    const auto got = packed->read({piece.data(), piece.size()});
    if (!got.ok() || *got == 0) break;
    total += *got;
  }
  if (!packed->packing().empty()) return 0;
  const auto source = warpmark::profile::memory_source(bytes);
  const auto session = warpmark::profile::read_source(*source);
  if (!session.ok()) return 0;
  for (const auto& timeline : session->ranks) warpmark::fuzz::check(timeline);
  return 0;
}
