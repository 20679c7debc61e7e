// Source: AWS, "Signature Version 4 signing process"; its published test suite is in the tests.
#include "serving/traffic/signing.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "base/text.h"
#include "http/url.h"

namespace warpmark::serving {
namespace {

using Digest = std::array<unsigned char, 32>;

Digest hmac(std::string_view key, std::string_view bytes) {
  Digest digest;
  unsigned int size = 0;
  WM_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), &size) != nullptr);
  return digest;
}

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Blanks at the ends away, several between words as one.
std::string trimmed_value(std::string_view value) {
  std::string out;
  for (const char c : trim(value)) {
    if (c == ' ' && !out.empty() && out.back() == ' ') continue;
    out += c;
  }
  return out;
}

struct SignedHeaders {
  std::string lines;  ///< "host:a\n..."
  std::string names;  ///< "host;x-amz-date"
};

SignedHeaders signed_headers(const http::Headers& headers) {
  std::vector<std::pair<std::string, std::string>> sorted;
  for (const auto& header : headers) sorted.emplace_back(ascii_lower(header.name), trimmed_value(header.value));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  SignedHeaders out;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool again = i > 0 && sorted[i].first == sorted[i - 1].first;
    if (again) {
      out.lines.back() = ',';
      out.lines += sorted[i].second + "\n";
    } else {
      out.lines += sorted[i].first + ":" + sorted[i].second + "\n";
      out.names += (out.names.empty() ? "" : ";") + sorted[i].first;
    }
  }
  return out;
}

/// "a=1&b=" sorted by name, then value; names and values are encoded already.
std::string canonical_query(std::string_view query) {
  if (query.empty()) return {};
  std::vector<std::string> pairs;
  for (auto& pair : split(query, '&')) {
    if (pair.find('=') == std::string::npos) pair += '=';
    pairs.push_back(std::move(pair));
  }
  std::sort(pairs.begin(), pairs.end(), [](const std::string& a, const std::string& b) {
    const auto ea = a.find('='), eb = b.find('=');
    const int order = a.compare(0, ea, b, 0, eb);
    return order != 0 ? order < 0 : a.substr(ea) < b.substr(eb);
  });
  return join(pairs, "&");
}

std::string canonical_path(std::string_view path) {
  std::string out;
  for (const char c : path) out += c == '/' ? std::string("/") : http::percent_encode(std::string_view(&c, 1));
  return out.empty() ? "/" : out;
}

class AwsSigner final : public RequestSigner {
 public:
  explicit AwsSigner(AwsCredentials credentials) : credentials_(std::move(credentials)) {}

  [[nodiscard]] http::Headers headers_for(std::string_view method, std::string_view target, std::string_view host,
                                          std::string_view body, std::int64_t unix_s) const override {
    http::Headers headers{{"X-Amz-Date", sigv4_time(unix_s)}};
    if (!credentials_.session_token.empty()) headers.push_back({"X-Amz-Security-Token", credentials_.session_token});
    http::Headers all = headers;
    all.push_back({"Host", std::string(host)});
    headers.push_back(
        {"Authorization", sigv4_authorization(credentials_, method, target, all, body, headers.front().value)});
    return headers;
  }
  [[nodiscard]] const std::string& secret() const override { return credentials_.secret_key; }

 private:
  AwsCredentials credentials_;
};

}  // namespace

std::string sigv4_authorization(const AwsCredentials& credentials, std::string_view method, std::string_view target,
                                const http::Headers& headers, std::string_view body, std::string_view time) {
  const auto question = target.find('?');
  const SignedHeaders chosen = signed_headers(headers);
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", method, canonical_path(target.substr(0, question)),
                  question == std::string_view::npos ? "" : canonical_query(target.substr(question + 1)), chosen.lines,
                  chosen.names, sha256_hex(body));
  const std::string day(time.substr(0, 8));
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, credentials.region, credentials.service);
  const std::string to_sign = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, sha256_hex(canonical));
  Digest key = hmac("AWS4" + credentials.secret_key, day);
  for (const std::string_view part : {std::string_view(credentials.region), std::string_view(credentials.service),
                                      std::string_view("aws4_request"), std::string_view(to_sign)}) {
    key = hmac(bytes_of(key), part);
  }
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}", credentials.access_key, scope,
                     chosen.names, hex_text(key));
}

std::string sigv4_time(std::int64_t unix_s) {
  const std::time_t seconds = unix_s;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

std::shared_ptr<const RequestSigner> aws_signer(AwsCredentials credentials) {
  return std::make_shared<AwsSigner>(std::move(credentials));
}

void RequestSigner::sign(std::string& bytes, std::int64_t unix_s) const {
  const auto end = bytes.find("\r\n\r\n");
  WM_CHECK(end != std::string::npos);
  const std::string_view all(bytes), head = all.substr(0, end);
  const auto value_at = [&](std::string_view name) {
    const auto at = head.find("\r\n" + std::string(name) + ": ");
    WM_CHECK(at != std::string_view::npos);
    return at + 2 + name.size() + 2;
  };
  const auto value = [&](std::size_t at) { return head.substr(at, head.find("\r\n", at) - at); };
  const auto first = head.find(' ') + 1, second = head.find(' ', first);
  const http::Headers now = headers_for(head.substr(0, first - 1), head.substr(first, second - first),
                                        value(value_at("Host")), all.substr(end + 4), unix_s);
  for (const auto& header : now) {
    const std::size_t at = value_at(header.name);
    WM_CHECK(value(at).size() == header.value.size());
    bytes.replace(at, header.value.size(), header.value);
  }
}

}  // namespace warpmark::serving
