// Requests signed as AWS asks for (Signature Version 4), which Bedrock does. The body is part of what is signed, and a
// signature is good for minutes only: requests are signed as they are sent, in place, without a copy. Pure but for the
// time it is given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

namespace warpmark::serving {

struct AwsCredentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  ///< of temporary ones; may be empty
  std::string region;
  std::string service = "bedrock";
};

/// The value of the Authorization header. `headers` are all that are signed, with Host and X-Amz-Date; `target` is the
/// path with its query; `time` is "20150830T123600Z".
[[nodiscard]] std::string sigv4_authorization(const AwsCredentials& credentials, std::string_view method,
                                              std::string_view target, const http::Headers& headers,
                                              std::string_view body, std::string_view time);

/// "20150830T123600Z" of seconds since 1970.
[[nodiscard]] std::string sigv4_time(std::int64_t unix_s);

class RequestSigner {
 public:
  explicit RequestSigner(AwsCredentials credentials) : credentials_(std::move(credentials)) {}

  /// Headers that a request needs beside its own, with a signature of this moment.
  [[nodiscard]] http::Headers headers_for(std::string_view method, std::string_view target, std::string_view host,
                                          std::string_view body, std::int64_t unix_s) const;
  /// Writes the signature of this moment over the one in a POST request that headers_for made.
  void sign(std::string& bytes, std::int64_t unix_s) const;
  /// What must not be shown.
  [[nodiscard]] const std::string& secret() const { return credentials_.secret_key; }

 private:
  AwsCredentials credentials_;
};

}  // namespace warpmark::serving
