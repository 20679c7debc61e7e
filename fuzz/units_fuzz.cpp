// The parsers of numbers with units: whatever the text, an error or a value in range, and never a crash.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/units.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = warpmark::parse_bytes(text)) require(*bytes >= 0);
  if (const auto seconds = warpmark::parse_duration_s(text)) require(std::isfinite(*seconds));
  if (const auto ratio = warpmark::parse_ratio(text)) require(std::isfinite(*ratio));
  if (const auto number = warpmark::parse_number(text)) require(std::isfinite(*number));
  (void)warpmark::parse_integer(text);
  return 0;
}
