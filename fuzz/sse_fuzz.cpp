// Server-sent events: the same events come out however the bytes are cut, and nothing grows beyond its cap.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/sse.h"

namespace {

std::vector<std::string> events_of(std::string_view bytes, std::size_t size) {
  warpmark::http::SseParser parser({.line_bytes = 1 << 16, .event_bytes = 1 << 16});
  std::vector<std::string> events;
  while (!bytes.empty() && !parser.failed()) {
    std::string_view piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    while (const auto event = parser.next(piece))
      events.push_back(std::string(event->type) + "\n" + std::string(event->data));
  }
  if (const auto last = parser.unfinished()) events.push_back(std::string(last->data));
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 1 || size > (1 << 15)) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (events_of(text, text.size() + 1) != events_of(text, data[0] % 7 + 1U)) std::abort();
  return 0;
}
