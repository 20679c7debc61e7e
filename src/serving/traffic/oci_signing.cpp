// Source: Oracle, "Request Signatures" (version 1), after draft-cavage-http-signatures-08; the vectors of its SDK for
// Go are in the tests.
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <ctime>
#include <memory>

#include "base/result.h"
#include "base/text.h"
#include "http/url.h"
#include "serving/traffic/signing.h"

namespace warpmark::serving {
namespace {

using PrivateKey = std::shared_ptr<EVP_PKEY>;

/// OpenSSL's question for a passphrase; without one it would ask at the terminal.
int give_passphrase(char* buffer, int size, int, void* passphrase) {
  const auto& text = *static_cast<const std::string*>(passphrase);
  const auto bytes = std::min(text.size(), static_cast<std::size_t>(size));
  text.copy(buffer, bytes);
  return static_cast<int>(bytes);
}

Result<PrivateKey> private_key_of(const OciCredentials& credentials) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      BIO_new_mem_buf(credentials.key.data(), static_cast<int>(credentials.key.size())), BIO_free);
  std::string passphrase = credentials.passphrase;
  PrivateKey key(PEM_read_bio_PrivateKey(text.get(), nullptr, give_passphrase, &passphrase), EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) {
    return data_error("the signing key cannot be read",
                      "an RSA key in PEM; if it has a passphrase, pass_phrase of the profile is it");
  }
  return key;
}

std::string rsa_sha256(EVP_PKEY* key, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  WM_CHECK(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1);
  std::string signature(static_cast<std::size_t>(EVP_PKEY_size(key)), '\0');
  std::size_t size = signature.size();
  WM_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                          reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1);
  signature.resize(size);
  return http::base64(signature);
}

std::string body_digest(std::string_view body) {
  std::array<unsigned char, 32> digest;
  unsigned int size = 0;
  WM_CHECK(EVP_Digest(body.data(), body.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  return http::base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string authorization_by(EVP_PKEY* key, const std::string& key_id, std::string_view method, std::string_view target,
                             std::string_view host, std::string_view body, std::string_view date) {
  std::string names = "date (request-target) host";
  std::string text =
      fmt::format("date: {}\n(request-target): {} {}\nhost: {}", date, ascii_lower(method), target, host);
  if (!body.empty()) {
    names += " content-length content-type x-content-sha256";
    text += fmt::format("\ncontent-length: {}\ncontent-type: application/json\nx-content-sha256: {}", body.size(),
                        body_digest(body));
  }
  return fmt::format(R"(Signature version="1",headers="{}",keyId="{}",algorithm="rsa-sha256",signature="{}")", names,
                     key_id, rsa_sha256(key, text));
}

class OciSigner final : public RequestSigner {
 public:
  OciSigner(PrivateKey key, std::string key_id) : key_(std::move(key)), key_id_(std::move(key_id)) {}

  [[nodiscard]] http::Headers headers_for(std::string_view method, std::string_view target, std::string_view host,
                                          std::string_view body, std::int64_t unix_s) const override {
    http::Headers headers{{"Date", http_date(unix_s)}};
    if (!body.empty()) headers.push_back({"X-Content-Sha256", body_digest(body)});
    headers.push_back(
        {"Authorization", authorization_by(key_.get(), key_id_, method, target, host, body, headers.front().value)});
    return headers;
  }
  [[nodiscard]] const std::string& secret() const override { return key_id_; }

 private:
  PrivateKey key_;
  std::string key_id_;
};

std::string* field_of(OciProfile& profile, std::string_view name) {
  if (name == "user") return &profile.user;
  if (name == "tenancy") return &profile.tenancy;
  if (name == "fingerprint") return &profile.fingerprint;
  if (name == "region") return &profile.region;
  if (name == "key_file") return &profile.key_file;
  if (name == "pass_phrase") return &profile.passphrase;
  return name == "security_token_file" ? &profile.security_token_file : nullptr;
}

}  // namespace

Result<std::shared_ptr<const RequestSigner>> oci_signer(OciCredentials credentials) {
  WM_ASSIGN(auto key, private_key_of(credentials));
  return std::shared_ptr<const RequestSigner>(
      std::make_shared<OciSigner>(std::move(key), std::move(credentials.key_id)));
}

Result<std::string> oci_authorization(const OciCredentials& credentials, std::string_view method,
                                      std::string_view target, std::string_view host, std::string_view body,
                                      std::string_view date) {
  WM_ASSIGN(const auto key, private_key_of(credentials));
  return authorization_by(key.get(), credentials.key_id, method, target, host, body, date);
}

std::string http_date(std::int64_t unix_s) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = unix_s;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday, kMonths[utc.tm_mon],
                     utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Result<OciProfile> parse_oci_profile(std::string_view config, std::string_view profile, bool with_session_token) {
  OciProfile found;
  bool inside = false, seen = false;
  for (const auto& raw : split(config, '\n')) {
    const std::string_view line = trim(raw);
    if (line.starts_with('[') && line.ends_with(']')) {
      inside = line.substr(1, line.size() - 2) == profile;
      seen = seen || inside;
      continue;
    }
    const auto equals = line.find('=');
    if (!inside || line.starts_with('#') || equals == std::string_view::npos) continue;
    if (std::string* field = field_of(found, trim(line.substr(0, equals)))) *field = trim(line.substr(equals + 1));
  }
  if (!seen) return data_error(fmt::format("the configuration has no profile [{}]", profile), "--profile NAME");
  std::vector<std::string> missing;
  const auto need = [&](const std::string& value, const char* name) {
    if (value.empty()) missing.emplace_back(name);
  };
  need(found.key_file, "key_file");
  if (with_session_token) {
    need(found.security_token_file, "security_token_file");
  } else {
    need(found.tenancy, "tenancy"), need(found.user, "user"), need(found.fingerprint, "fingerprint");
  }
  if (!missing.empty()) return data_error(fmt::format("the profile [{}] lacks {}", profile, join(missing, ", ")));
  return found;
}

}  // namespace warpmark::serving
