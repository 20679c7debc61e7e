// A body that a server or a proxy has compressed, asked or not (Content-Encoding: gzip, deflate; RFC 9110, section
// 8.4.1): decoded as it arrives, so that the events of a compressed stream keep their times. By ISA-L's igzip.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

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
