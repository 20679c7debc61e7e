// The body of an HTTP/1.1 message out of the bytes of a connection, piece by piece and without copying: by its length,
// by chunks (RFC 9112, section 7.1), or until the connection ends. Pure; no allocation but for an error.
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

}  // namespace warpmark::http
