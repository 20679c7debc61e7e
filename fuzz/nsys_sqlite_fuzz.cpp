// Databases as nsys exports them, well-formed or not.
#include "read_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  warpmark::fuzz::read_profile("nsys_sqlite", {reinterpret_cast<const char*>(data), size});
  return 0;
}
