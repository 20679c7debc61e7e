// Tables of nvidia-smi dmon.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  warpmark::fuzz::read_profile("nvidia_smi_dmon", {reinterpret_cast<const char*>(data), size});
  return 0;
}
