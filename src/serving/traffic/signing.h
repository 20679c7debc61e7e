// Requests that are signed instead of carrying a key. The body is part of what is signed, and a signature is good for
// minutes only: requests are signed as they are sent, in place, without a copy. Pure but for the time it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace warpmark::serving {

/// Any thread.
class RequestSigner {
 public:
  virtual ~RequestSigner() = default;
  RequestSigner(const RequestSigner&) = delete;
  RequestSigner& operator=(const RequestSigner&) = delete;

  /// Headers that a request needs beside its own, with a signature of this moment. Their values have the same size at
  /// every moment.
  [[nodiscard]] virtual http::Headers headers_for(std::string_view method, std::string_view target,
                                                  std::string_view host, std::string_view body,
                                                  std::int64_t unix_s) const = 0;
  /// What must not be shown.
  [[nodiscard]] virtual const std::string& secret() const = 0;

  /// Writes the signature of this moment over the one in a POST request that headers_for made.
  void sign(std::string& bytes, std::int64_t unix_s) const;

 protected:
  RequestSigner() = default;
};

struct AwsCredentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  ///< of temporary ones; may be empty
  std::string region;
  std::string service = "bedrock";
};

/// As AWS asks for it (Signature Version 4), which Bedrock does.
[[nodiscard]] std::shared_ptr<const RequestSigner> aws_signer(AwsCredentials credentials);

/// The value of the Authorization header. `headers` are all that are signed, with Host and X-Amz-Date; `target` is the
/// path with its query; `time` is "20150830T123600Z".
[[nodiscard]] std::string sigv4_authorization(const AwsCredentials& credentials, std::string_view method,
                                              std::string_view target, const http::Headers& headers,
                                              std::string_view body, std::string_view time);

/// "20150830T123600Z" of seconds since 1970.
[[nodiscard]] std::string sigv4_time(std::int64_t unix_s);

struct OciCredentials {
  std::string key_id;      ///< "TENANCY/USER/FINGERPRINT", or "ST$TOKEN"
  std::string key;         ///< RSA, PEM
  std::string passphrase;  ///< of it; may be empty
};

/// As Oracle's cloud asks for it. A signature takes about a millisecond of the sending thread, with a key of 2048 bits.
/// Data error for a key that is none or has another passphrase.
[[nodiscard]] Result<std::shared_ptr<const RequestSigner>> oci_signer(OciCredentials credentials);

/// The value of the Authorization header; `date` is "Thu, 05 Jan 2014 21:31:40 GMT". A body is of JSON; without one the
/// request is a GET. Errors as of oci_signer.
[[nodiscard]] Result<std::string> oci_authorization(const OciCredentials& credentials, std::string_view method,
                                                    std::string_view target, std::string_view host,
                                                    std::string_view body, std::string_view date);

/// "Sun, 05 Jan 2014 21:31:40 GMT" of seconds since 1970.
[[nodiscard]] std::string http_date(std::int64_t unix_s);

/// A profile of ~/.oci/config.
struct OciProfile {
  std::string user, tenancy, fingerprint, region, key_file, passphrase, security_token_file;
};
/// Data error without the profile, or where it lacks what signing needs.
[[nodiscard]] Result<OciProfile> parse_oci_profile(std::string_view config, std::string_view profile,
                                                   bool with_session_token);

}  // namespace warpmark::serving
