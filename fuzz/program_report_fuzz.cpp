// What the hook in a program reports: the program may be killed while it writes, and may write anything into the file.
#include <string_view>

#include "workers/program_report.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto report = warpmark::workers::parse_report({reinterpret_cast<const char*>(data), size}, "input");
  if (!report.ok()) return 0;
  (void)warpmark::workers::main_processes({*report});
  return 0;
}
