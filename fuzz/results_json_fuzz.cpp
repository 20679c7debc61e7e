// Stored and exchanged results: any bytes parse to an error or to a session, and a session that was read writes a form
// that reads back to the same form.
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "model/json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = warpmark::parse_json(text, "input");
  if (!json) return 0;
  (void)warpmark::run_from_json(*json);
  const auto session = warpmark::session_from_json(*json);
  if (!session) return 0;
  const auto written = warpmark::dump_json(warpmark::to_json(*session));
  const auto reread = warpmark::parse_json(written, "written");
  if (!reread) std::abort();
  const auto again = warpmark::session_from_json(*reread);
  if (!again || warpmark::dump_json(warpmark::to_json(*again)) != written) std::abort();
  return 0;
}
