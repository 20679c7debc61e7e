#include "watch/server/access.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <vector>

#include "base/text.h"

namespace warpmark::watch {
namespace {

/// What the base64 text stands for; empty for what is none (RFC 4648).
std::string from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > 4096) return {};
  std::vector<unsigned char> bytes(text.size());
  const int size =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return {};
  const auto padding = static_cast<std::size_t>(text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0);
  return {bytes.begin(), bytes.begin() + (size - static_cast<int>(padding))};
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

bool has_token(std::string_view authorization, const std::string& token) {
  if (token.empty()) return true;
  constexpr std::string_view kBearer = "Bearer ", kBasic = "Basic ";
  if (authorization.starts_with(kBearer)) return same_secret(authorization.substr(kBearer.size()), token);
  if (!authorization.starts_with(kBasic)) return false;
  const std::string pair = from_base64(authorization.substr(kBasic.size()));
  const auto colon = pair.find(':');
  return colon != std::string::npos && same_secret(std::string_view(pair).substr(colon + 1), token);
}

bool names_loopback(std::string_view host_header) {
  std::string_view name = host_header;
  if (name.starts_with('[')) {
    name = name.substr(0, name.find(']') == std::string_view::npos ? name.size() : name.find(']') + 1);
  } else {
    name = name.substr(0, name.find(':'));
  }
  if (name.empty()) return true;
  if (name.ends_with('.')) name.remove_suffix(1);  // a full name (RFC 3986, 3.2.2), which has no case either
  if (ascii_lower(name) == "localhost" || name == "[::1]") return true;
  return name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace warpmark::watch
