// Reads one answer as its bytes arrive and writes into a record what happened when: the state between the connection,
// which moves bytes, and the record. Pure but for the times it is given, so that every odd stream can be tested and
// fuzzed without a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/parser.h"
#include "http/sse.h"
#include "serving/answers/chunk.h"
#include "serving/answers/record.h"

namespace warpmark::serving {

struct AnswerFormat {
  bool streams = true;               ///< a stream of events was asked for
  std::string done_mark;             ///< data of its last event; empty if there is none
  std::size_t most_body = 64 << 20;  ///< of an answer that is no stream
  http::SseLimits stream_limits;
  bool keep_texts = false;  ///< what was said is kept in the record
  bool hear_texts = false;  ///< and only until the next answer: said_json()
};

class AnswerReader {
 public:
  explicit AnswerReader(const AnswerFormat& format) : format_(&format), events_(format.stream_limits) {}

  /// For the next answer, which is told in `record`.
  void begin(RequestRecord& record);
  /// Bytes that arrived at `now_ns`.
  void take(std::string_view bytes, std::int64_t now_ns);
  void end_of_connection(std::int64_t now_ns);

  /// The answer has ended, or a fault has ended it: record.fault and the times are final.
  [[nodiscard]] bool ended() const { return ended_; }
  /// The stream's end mark was seen: nothing of the answer is missing but, perhaps, the end of the message.
  [[nodiscard]] bool done_seen() const { return done_seen_; }
  /// Whether the connection can take another request. After ended().
  [[nodiscard]] bool reusable() const { return ended_ && parser_.reusable(); }
  /// Ends what said all but the end of its message, such as a server that keeps the connection open after its end mark.
  void close_after_done(std::int64_t now_ns);
  /// Sets the fault and ends the answer.
  void fail(Fault fault, std::string_view message, std::int64_t now_ns);
  /// The event with a token seen last was sent by the reference server at this time; -1 else.
  [[nodiscard]] std::int64_t last_server_ns() const { return last_server_ns_; }
  /// What a user saw of the last answer, as it stands between the quotes of a JSON string. Until begin().
  [[nodiscard]] const std::string& said_json() const { return texts_.visible; }

 private:
  void take_head(std::int64_t now_ns);
  void take_body(std::string_view body, std::int64_t now_ns);
  void take_decoded(std::string_view body, std::int64_t now_ns);
  void take_event(const http::SseEvent& event, std::int64_t now_ns);
  void take_facts(const ChunkFacts& facts, std::int64_t now_ns);
  void take_token(const ChunkFacts& facts, std::int64_t now_ns);
  void take_whole_body(std::int64_t now_ns);
  void end_of_answer(std::int64_t now_ns);
  /// Of an answer that arrived whole.
  void complete(std::int64_t now_ns);
  void end(std::int64_t now_ns);
  [[nodiscard]] ChunkTexts* texts() { return format_->keep_texts || format_->hear_texts ? &texts_ : nullptr; }

  const AnswerFormat* format_;
  RequestRecord* record_ = nullptr;
  http::ResponseParser parser_;
  http::SseParser events_;
  std::unique_ptr<http::ContentDecoder> decoder_;  ///< null where the body is not compressed
  std::string body_;                               ///< of an answer that is no stream
  std::string bad_finish_;                         ///< a finish reason that is none of success
  std::vector<float> gaps_s_;
  std::vector<std::uint16_t> gap_tokens_;
  ChunkTexts texts_;                  ///< if they are kept
  std::int64_t tokens_reported_ = 0;  ///< by usage in every piece
  std::int64_t last_server_ns_ = -1;
  bool tool_calls_ = false;
  bool head_taken_ = false;
  bool is_stream_ = false;
  bool done_seen_ = false;
  bool finish_seen_ = false;
  bool ended_ = false;
};

// What a server said, as it may be shown: in a terminal, a page, a file. A hostile or broken server must not be able to
// color a terminal, move its cursor or break a document. Pure.

inline constexpr std::size_t kMostServerText = 200;

/// At most `most` bytes of valid UTF-8 on one line: line ends and tabs become spaces; control characters, characters
/// that change the direction of text, and bytes that are no UTF-8 become "\x1b".
[[nodiscard]] std::string server_text(std::string_view bytes, std::size_t most = kMostServerText);

/// The text of a JSON string, given as what is between its quotes; what is damaged stays as it is.
[[nodiscard]] std::string without_escapes(std::string_view between_quotes);

/// What a person can read of a body that is an error: its message, or its beginning.
[[nodiscard]] std::string error_text(std::string_view body);

}  // namespace warpmark::serving
