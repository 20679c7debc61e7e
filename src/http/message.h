// Heads of HTTP/1.1 messages (RFC 9112) and how the length of their bodies is told. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::http {

struct Header {
  std::string name;
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};
using Headers = std::vector<Header>;

/// The first with this name, whatever its case; nullptr if there is none.
[[nodiscard]] const std::string* find_header(const Headers& headers, std::string_view name);
/// ASCII letters alone.
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);
/// Whether a comma-separated value has this token.
[[nodiscard]] bool has_token(std::string_view value, std::string_view token);

/// A name and a value that may be sent. Usage error for what would split the request: a line end, an empty name.
[[nodiscard]] Result<Header> parse_header(std::string_view line);

struct ResponseHead {
  int status = 0;
  std::string reason;
  int minor_version = 1;
  Headers headers;
};

struct RequestHead {
  std::string method;
  std::string target;
  int minor_version = 1;
  Headers headers;
};

/// The lines of a head, with or without the empty one at its end; LF alone ends a line, too. Data error for what is no
/// HTTP/1.
[[nodiscard]] Result<ResponseHead> parse_response_head(std::string_view text);
[[nodiscard]] Result<RequestHead> parse_request_head(std::string_view text);

enum class Framing { none, length, chunked, until_close };

struct BodyLength {
  Framing framing = Framing::none;
  std::uint64_t bytes = 0;  ///< of Framing::length
};

/// RFC 9112, section 6.3. Data error for lengths that contradict each other, and for codings that are unknown.
[[nodiscard]] Result<BodyLength> body_length(const ResponseHead& head, bool answers_head_request = false);
[[nodiscard]] Result<BodyLength> body_length(const RequestHead& head);

/// Whether the connection may serve another request after this message.
[[nodiscard]] bool keeps_alive(int minor_version, const Headers& headers);

/// The head of a request, with the empty line at its end. The host is the caller's to give.
[[nodiscard]] std::string request_head(std::string_view method, std::string_view target, const Headers& headers);

}  // namespace warpmark::http

// A body that a server or a proxy has compressed, asked or not (Content-Encoding: gzip, deflate; RFC 9110, section
// 8.4.1): decoded as it arrives, so that the events of a compressed stream keep their times. By ISA-L's igzip.

struct inflate_state;

namespace warpmark::http {

class ContentDecoder {
 public:
  explicit ContentDecoder(std::string_view encoding);
  ~ContentDecoder();
  ContentDecoder(const ContentDecoder&) = delete;
  ContentDecoder& operator=(const ContentDecoder&) = delete;

  /// Gives what the bytes hold to `take`, in pieces of 64 KiB at most. False for damaged data, and where the encoding
  /// is neither gzip nor deflate.
  [[nodiscard]] bool decode(std::string_view bytes, const std::function<void(std::string_view)>& take);
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void begin(char first);

  std::string encoding_;
  std::unique_ptr<inflate_state> state_;
  std::string piece_, problem_;
  bool begun_ = false;
};

/// For a response whose head says that its body is compressed; null for others.
[[nodiscard]] std::unique_ptr<ContentDecoder> content_decoder_of(const Headers& headers);

}  // namespace warpmark::http
