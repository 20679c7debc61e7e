// Archives of arrays, as `warpmark allclose` reads them.
#include <cstddef>
#include <cstdlib>

#include "accuracy/columns.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto columns = warpmark::accuracy::parse_npz({reinterpret_cast<const char*>(data), size}, "input");
  if (columns.ok() && columns->empty()) std::abort();
  return 0;
}
