// Any bytes, taken as the format of profile that WARPMARK_READER names.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  warpmark::fuzz::read_profile(WARPMARK_READER, {reinterpret_cast<const char*>(data), size});
  return 0;
}
