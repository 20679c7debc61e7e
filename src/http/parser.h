// Incremental parsers of HTTP/1.1 responses and requests: bytes in as the connection delivers them, pieces of the body
// out. They hold no more than one head. Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "http/message.h"

namespace warpmark::http {

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
