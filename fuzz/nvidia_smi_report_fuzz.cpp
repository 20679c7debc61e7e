// Tables and XML of nvidia-smi.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  warpmark::fuzz::read_profile("nvidia_smi_report", {reinterpret_cast<const char*>(data), size});
  return 0;
}
