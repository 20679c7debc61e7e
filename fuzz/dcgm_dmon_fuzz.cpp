// Tables of dcgmi dmon.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  warpmark::fuzz::read_profile("dcgm_dmon", {reinterpret_cast<const char*>(data), size});
  return 0;
}
