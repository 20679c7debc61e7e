// Databases of rocprofv3, rocprof and RPD, well-formed or not.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  warpmark::fuzz::read_profile("rocprof_sqlite", {reinterpret_cast<const char*>(data), size});
  return 0;
}
