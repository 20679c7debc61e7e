// Suite files: any text is an error with a place or a suite whose numbers are in range, and never a crash.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "workloads/suite.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto suite = warpmark::workloads::parse_suite(text, "input.yaml");
  if (!suite) return 0;
  if (!std::isfinite(suite->budget_s) || suite->budget_s < 0 || suite->rounds < 1 || !(suite->half_width > 0)) {
    std::abort();
  }
  return 0;
}
