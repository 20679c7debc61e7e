// What a watch knows, as it comes back from its file: any bytes are a state or an error, and a state is written to the
// same bytes again.
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "watch/alerts/state.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto json = warpmark::parse_json({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!json.ok()) return 0;
  const auto state = warpmark::watch::watch_state_from(*json);
  if (!state.ok()) return 0;
  const auto written = warpmark::watch::to_json(*state);
  const auto again = warpmark::watch::watch_state_from(written);
  WM_CHECK(again.ok());
  WM_CHECK(warpmark::dump_json(warpmark::watch::to_json(*again)) == warpmark::dump_json(written));
  return 0;
}
