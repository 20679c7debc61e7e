// Incremental parsers of HTTP/1.1 responses and requests: bytes in as the connection delivers them, pieces of the body
// out. They hold no more than one head. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

namespace warpmark::http {

/// What was made of the front of some bytes.
struct Decoded {
  std::size_t consumed = 0;
  std::string_view body;  ///< a part of those bytes
};

/// The body of a message out of the bytes of a connection, piece by piece and without copying: by its length, by chunks
/// (RFC 9112, section 7.1), or until the connection ends. No allocation but for an error.
class BodyDecoder {
 public:
  explicit BodyDecoder(const BodyLength& length = {});

  /// Takes bytes up to the end of the next piece of the body, or all of them. Call until everything is consumed, or
  /// done() or failed().
  [[nodiscard]] Decoded take(std::string_view bytes);
  /// The connection ended. Without a fault only where that is how the body ends.
  void end_of_connection();

  [[nodiscard]] bool done() const { return state_ == State::done; }
  [[nodiscard]] bool failed() const { return state_ == State::failed; }
  [[nodiscard]] const char* problem() const { return problem_; }

 private:
  enum class State { length, chunk_size, chunk_extension, chunk_data, chunk_end, trailer, until_close, done, failed };

  void take_framing(char c);
  void end_of_size_line();
  void fail(const char* problem);

  State state_;
  std::uint64_t left_ = 0;
  int digits_ = 0;
  std::size_t framing_bytes_ = 0;  ///< of an extension or of trailers, which are capped
  bool line_empty_ = true;
  const char* problem_ = "";
};

inline constexpr std::size_t kMostHeadBytes = 64 << 10;

/// Collects the lines of a head until the empty one.
class HeadCollector {
 public:
  /// How many of the bytes belong to the head; complete() afterwards if that was its end.
  [[nodiscard]] std::size_t take(std::string_view bytes);
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] bool too_long() const { return text_.size() > kMostHeadBytes; }
  [[nodiscard]] const std::string& text() const { return text_; }
  void clear();

 private:
  std::string text_;
  bool complete_ = false;
  bool line_empty_ = true;
};

class ResponseParser {
 public:
  /// For the next response on this connection.
  void begin(bool answers_head_request = false);

  /// As BodyDecoder::take. Informational responses (1xx) are passed over.
  [[nodiscard]] Decoded take(std::string_view bytes);
  /// The connection ended: done() or failed() afterwards.
  void end_of_connection();

  [[nodiscard]] bool has_head() const { return has_head_; }
  [[nodiscard]] const ResponseHead& head() const { return head_; }
  [[nodiscard]] bool done() const { return has_head_ && body_.done(); }
  [[nodiscard]] bool failed() const { return !problem_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Whether the connection may be used again. After done().
  [[nodiscard]] bool reusable() const;

 private:
  void take_head();

  HeadCollector collector_;
  ResponseHead head_;
  BodyDecoder body_;
  bool has_head_ = false;
  bool answers_head_request_ = false;
  bool ends_with_connection_ = false;
  int interim_ = 0;  ///< 1xx answers before the one
  std::string problem_;
};

class RequestParser {
 public:
  void begin();
  [[nodiscard]] Decoded take(std::string_view bytes);

  [[nodiscard]] bool has_head() const { return has_head_; }
  [[nodiscard]] const RequestHead& head() const { return head_; }
  [[nodiscard]] bool done() const { return has_head_ && body_.done(); }
  [[nodiscard]] bool failed() const { return !problem_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Whether anything of a request has arrived.
  [[nodiscard]] bool started() const { return has_head_ || !collector_.text().empty(); }

 private:
  void take_head();

  HeadCollector collector_;
  RequestHead head_;
  BodyDecoder body_;
  bool has_head_ = false;
  std::string problem_;
};

}  // namespace warpmark::http
