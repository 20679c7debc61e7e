// From any bytes to the verdict: what a reader takes for a profile is analyzed, however little is left in it.
#include <cmath>
#include <string_view>

#include "analyze/analyze.h"
#include "base/result.h"
#include "profile/read_session.h"
#include "profile/source.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto source = warpmark::profile::memory_source({reinterpret_cast<const char*>(data), size}, "input");
  const auto session = warpmark::profile::read_source(*source);
  if (!session.ok()) return 0;
  const auto analysis = warpmark::analyze::analyze(*session, {});
  for (const auto& finding : analysis.findings) WM_CHECK(std::isfinite(finding.severity));
  return 0;
}
