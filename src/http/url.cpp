#include "http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::http {
namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::uint16_t own_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

bool is_host_name(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
  });
}

bool is_bracketed_host(std::string_view host) {
  return host.find(':') != std::string_view::npos && std::all_of(host.begin(), host.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == ':' || c == '.' || c == '%';
         });
}

/// Control characters and spaces would split the request they are written into.
bool is_target(std::string_view target) {
  return std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c != '\x7f'; });
}

Status take_port(std::string_view text, Url& url) {
  const auto port = parse_integer(text);
  if (!port.ok() || *port < 1 || *port > 65535) {
    return usage_error(fmt::format("'{}' is no port", text), "1 to 65535");
  }
  url.port = static_cast<std::uint16_t>(*port);
  return {};
}

Status take_authority(std::string_view authority, Url& url) {
  if (authority.find('@') != std::string_view::npos) {
    return usage_error("a URL with a user or a password is not taken",
                       "such a URL ends up in reports; give the key by a file or an environment variable");
  }
  std::string_view host = authority, port;
  bool valid = false;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return usage_error("'" + std::string(authority) + "' lacks a ]");
    host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && port.front() != ':') return usage_error("'" + std::string(authority) + "' is no host");
    valid = is_bracketed_host(host);
  } else {
    if (const auto colon = authority.find(':'); colon != std::string_view::npos) {
      host = authority.substr(0, colon);
      port = authority.substr(colon);
    }
    valid = is_host_name(host);
  }
  if (!valid) {
    return usage_error(fmt::format("'{}' is no host", authority),
                       "an IPv6 address stands in brackets: http://[::1]:8000");
  }
  url.host = ascii_lower(host);
  return port.empty() ? Status{} : take_port(port.substr(1), url);
}

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string Url::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != own_port(scheme)) text += fmt::format(":{}", port);
  return text;
}

Result<Url> parse_url(std::string_view text) {
  const auto colon = text.find("://");
  Url url;
  url.scheme = colon == std::string_view::npos ? "" : ascii_lower(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https") {
    return usage_error(fmt::format("'{}' is no URL of a server", text), "such as http://localhost:8000");
  }
  url.port = own_port(url.scheme);
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const auto path = rest.find_first_of("/?");
  WM_TRY(take_authority(rest.substr(0, path), url));
  url.target = path == std::string_view::npos ? "/" : std::string(rest.substr(path));
  if (url.target.front() == '?') url.target.insert(0, "/");
  if (!is_target(url.target)) {
    return usage_error(fmt::format("the path of '{}' holds a space or a control character", url.authority()),
                       "write it as %XX");
  }
  return url;
}

Url below(const Url& base, std::string_view path) {
  Url url = base;
  const auto query = base.target.find('?');
  std::string folder = base.target.substr(0, query);
  while (folder.ends_with('/')) folder.pop_back();
  while (path.starts_with('/')) path.remove_prefix(1);
  url.target = folder + "/" + std::string(path);
  if (query != std::string::npos) url.target += base.target.substr(query);
  return url;
}

std::string percent_encode(std::string_view text, bool keep_slash) {
  std::string result;
  for (const char c : text) {
    const bool plain = is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain || (keep_slash && c == '/')) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return result;
}

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 0x3F];
    }
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t digits = text.size();
  while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  std::string bytes;
  bytes.reserve(digits / 4 * 3 + 2);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int value = values[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 > 0) bytes += static_cast<char>(group >> (6 - 2 * (i % 4)) & 0xFF);
  }
  return bytes;
}

}  // namespace warpmark::http
