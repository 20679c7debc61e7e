// Chrome traces of XLA's profiler: whole, and cut into blocks of a few bytes that two threads parse.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  warpmark::fuzz::read_profile("xla_trace", text);
  if (size % 8 == 0) warpmark::fuzz::read_profile("xla_trace", text, {.threads = 2, .block_bytes = 48});
  return 0;
}
