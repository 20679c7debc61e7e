// Rows of a store: the document and the samples of a run, split at the first NUL byte. What is read is written to the
// same bytes again, and has only numbers that JSON can hold.
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "model/json/json.h"
#include "store/payload.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto cut = bytes.find('\0');
  if (cut == std::string_view::npos) return 0;
  const auto run = warpmark::store::run_from_payload(bytes.substr(0, cut), bytes.substr(cut + 1), "input");
  if (!run) return 0;
  (void)warpmark::dump_json(warpmark::to_json(*run));
  const auto payload = warpmark::store::to_payload(*run);
  const auto again = warpmark::store::run_from_payload(payload.document, payload.samples, "written");
  if (!again || warpmark::store::to_payload(*again).samples != payload.samples) std::abort();
  return 0;
}
