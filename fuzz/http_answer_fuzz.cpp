// An answer of an HTTP server, read as the load client does: whatever comes, it ends as an answer or a fault, and it is
// the same however it was cut.
#include <cstdlib>
#include <string_view>

#include "serving/answers/answer_reader.h"

namespace {

warpmark::serving::RequestRecord read(std::string_view bytes, std::size_t size) {
  static const warpmark::serving::AnswerFormat format{.streams = true,
                                                      .done_mark = "[DONE]",
                                                      .most_body = 1 << 16,
                                                      .stream_limits = {.line_bytes = 1 << 16, .event_bytes = 1 << 16},
                                                      .keep_texts = true};
  warpmark::serving::AnswerReader reader(format);
  warpmark::serving::RequestRecord record;
  record.sent_ns = 1;
  reader.begin(record);
  while (!bytes.empty() && !reader.ended()) {
    reader.take(bytes.substr(0, size), 2);
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
  reader.end_of_connection(3);
  if (!reader.ended()) std::abort();
  return record;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 1 || size > (1 << 15)) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = read(text, text.size() + 1), cut = read(text, data[0] % 11 + 1U);
  if (whole.fault != cut.fault || whole.events != cut.events || whole.output_tokens != cut.output_tokens) std::abort();
  if ((whole.said == nullptr) != (cut.said == nullptr)) std::abort();
  if (whole.said != nullptr && whole.said->visible != cut.said->visible) std::abort();
  return 0;
}
