// Result files of other tools: any bytes, taken as any of the formats, give an error or sessions that every format can
// write again, and the same bytes the same ids, in memory that is bounded by the text and by what it can hold.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "exchange/import.h"
#include "memory_bound.h"
#include "stretched.h"

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

/// A line of nccl-tests is two runs of three metrics.
/// What results and values take however short their text is; how many are believed, ResultLimit and parse_results say.
std::size_t bytes_of_content(std::string_view text) {
  constexpr std::size_t kBytesOfResult = 8192, kBytesOfValue = 200, kBuffers = 1 << 20;
  std::size_t results = 0, values = 0;
  for (const char letter : text) {
    if (std::string_view("\n:{").find(letter) != std::string_view::npos) ++results;
    if (std::string_view(",;\t:[{").find(letter) != std::string_view::npos) ++values;
  }
  return kBuffers + kBytesOfResult * std::min<std::size_t>(results, 30'000) + kBytesOfValue * values;
}

Result<std::vector<Session>> import_within_bounds(std::string_view text, const std::string& format) {
  const fuzz::PeakMemory peak;
  const auto document = exchange::open_document("input", text);
  if (!document.ok()) return document.error();
  auto sessions = exchange::import_results(*document, {.format = format});
  peak.require_at_most(10, text.size(), bytes_of_content(text));
  return sessions;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)import_within_bounds(text, "");
  for (const auto& format : exchange::readable_formats()) {
    const auto sessions = import_within_bounds(text, format);
    if (!sessions.ok()) continue;
    for (const Session& session : *sessions) check(session);
    const auto again = import_within_bounds(text, format);
    require(again.ok() && again->front().id == sessions->front().id);
  }
  if (fuzz::is_stretched(text)) (void)import_within_bounds(fuzz::stretched(text, 1 << 20), "");
  return 0;
}
