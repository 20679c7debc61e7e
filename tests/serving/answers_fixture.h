// Streams of events for tests, and what a load client makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serving/answers/answer_reader.h"

namespace warpmark::serving {

inline std::string event_of(const std::string& json) { return "data: " + json + "\n\n"; }
inline const std::string kWord = event_of(R"({"choices":[{"index":0,"delta":{"content":"a"}}]})");
inline const std::string kStop = event_of(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");

/// Reads a stream that ends with its connection; each piece arrives 10 ms after the one before.
inline RequestRecord read_answer(const std::vector<std::string>& pieces, const std::string& head = "",
                                 AnswerFormat format = {}) {
  RequestRecord record;
  record.intended_ns = record.begun_ns = record.sent_ns = 1;
  AnswerReader reader(format);
  reader.begin(record);
  std::int64_t now_ns = 1;
  reader.take("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + head + "\r\n", now_ns);
  for (const auto& piece : pieces) {
    if (!reader.ended()) reader.take(piece, now_ns += 10'000'000);
  }
  if (!reader.ended()) reader.end_of_connection(now_ns += 10'000'000);
  return record;
}

inline const AnswerFormat kChat{.streams = true, .done_mark = "[DONE]"};

}  // namespace warpmark::serving
