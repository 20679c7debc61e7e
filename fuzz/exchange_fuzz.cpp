// Result files of other tools: any bytes, taken as any of the formats, give an error or sessions that every format can
// write again, and the same bytes the same ids.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "exchange/catalog.h"
#include "exchange/import.h"

namespace {

using namespace warpmark;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Session& session) {
  require(!session.id.empty());
  for (const Run& run : session.runs) {
    for (const Metric& metric : run.metrics) {
      for (const double sample : metric.samples) require(std::isfinite(sample));
    }
  }
  for (const exchange::Format* format : exchange::formats()) {
    if (format->write != nullptr) (void)format->write(session);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = exchange::open_document("input", text);
  if (!document.ok()) return 0;
  (void)exchange::import_results(*document, {});
  for (const auto& format : exchange::readable_formats()) {
    const auto sessions = exchange::import_results(*document, {.format = format});
    if (!sessions.ok()) continue;
    for (const Session& session : *sessions) check(session);
    const auto again = exchange::import_results(*document, {.format = format});
    require(again.ok() && again->front().id == sessions->front().id);
  }
  return 0;
}
