// CSV files of rocprofv3.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  warpmark::fuzz::read_profile("rocprof_csv", {reinterpret_cast<const char*>(data), size});
  return 0;
}
