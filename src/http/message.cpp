#include "http/message.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace warpmark::http {
namespace {

constexpr bool is_token_character(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || kOthers.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

/// Tabs are allowed, other control characters are not.
bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' ? c != '\x7f' : c == '\t'; });
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trim_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string shown(std::string_view line) {
  std::string text(line.substr(0, 60));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return text;
}

Result<Headers> take_fields(std::string_view text) {
  Headers headers;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    const auto colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name)) {
      return data_error(fmt::format("'{}' is no header line", shown(line)));
    }
    const std::string_view value = trim_blanks(line.substr(colon + 1));
    if (!is_field_value(value)) return data_error(fmt::format("the header {} holds control characters", name));
    headers.push_back({std::string(name), std::string(value)});
  }
  return headers;
}

/// "HTTP/1.x"; the x, or nothing.
std::optional<int> minor_version_of(std::string_view text) {
  if (text.size() != 8 || !text.starts_with("HTTP/1.") || !is_digit(text[7])) return std::nullopt;
  return text[7] - '0';
}

Result<std::uint64_t> length_of(std::string_view text) {
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return data_error(fmt::format("'{}' is no Content-Length", shown(text)));
  }
  return bytes;
}

/// What the headers say; nothing if they say nothing.
Result<std::optional<BodyLength>> declared_length(const Headers& headers) {
  std::optional<BodyLength> declared;
  bool chunked = false;
  for (const auto& header : headers) {
    if (equal_ignoring_case(header.name, "transfer-encoding")) {
      if (chunked || !equal_ignoring_case(header.value, "chunked")) {
        return data_error("the transfer coding '" + shown(header.value) + "' is not known");
      }
      chunked = true;
    } else if (equal_ignoring_case(header.name, "content-length")) {
      WM_ASSIGN(const auto bytes, length_of(header.value));
      if (declared && declared->bytes != bytes) return data_error("two different Content-Length headers");
      declared = BodyLength{Framing::length, bytes};
    }
  }
  if (chunked && declared) return data_error("both Content-Length and Transfer-Encoding");
  if (chunked) declared = BodyLength{Framing::chunked, 0};
  return declared;
}

constexpr std::size_t kPieceBytes = 64 << 10;

bool is_gzip(std::string_view encoding) { return encoding == "gzip" || encoding == "x-gzip"; }

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

const std::string* find_header(const Headers& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const Header& header) { return equal_ignoring_case(header.name, name); });
  return found == headers.end() ? nullptr : &found->value;
}

bool has_token(std::string_view value, std::string_view token) {
  while (!value.empty()) {
    const auto comma = value.find(',');
    if (equal_ignoring_case(trim_blanks(value.substr(0, comma)), token)) return true;
    value = comma == std::string_view::npos ? std::string_view() : value.substr(comma + 1);
  }
  return false;
}

Result<Header> parse_header(std::string_view line) {
  const auto colon = line.find(':');
  const std::string_view name = trim_blanks(line.substr(0, colon));
  if (colon == std::string_view::npos || !is_token(name)) {
    return usage_error("'" + shown(line) + "' is no header", "such as 'X-Session: 7'");
  }
  const std::string_view value = trim_blanks(line.substr(colon + 1));
  if (!is_field_value(value)) return usage_error(fmt::format("the value of header {} holds control characters", name));
  return Header{std::string(name), std::string(value)};
}

Result<ResponseHead> parse_response_head(std::string_view text) {
  const std::string_view line = take_line(text);
  const auto version = minor_version_of(line.substr(0, 8));
  const bool has_code = line.size() >= 12 && line[8] == ' ' && is_digit(line[9]) && is_digit(line[10]) &&
                        is_digit(line[11]) && (line.size() == 12 || line[12] == ' ');
  if (!version || !has_code) return data_error(fmt::format("'{}' is no answer of an HTTP/1.1 server", shown(line)));
  ResponseHead head;
  head.minor_version = *version;
  head.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (head.status < 100) return data_error(fmt::format("the status {} does not exist", head.status));
  head.reason = std::string(line.substr(std::min<std::size_t>(line.size(), 13)));
  WM_ASSIGN(head.headers, take_fields(text));
  return head;
}

Result<RequestHead> parse_request_head(std::string_view text) {
  const std::string_view line = take_line(text);
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) {
    return data_error(fmt::format("'{}' is no request line", shown(line)));
  }
  RequestHead head;
  head.method = std::string(line.substr(0, first));
  head.target = std::string(line.substr(first + 1, last - first - 1));
  const auto version = minor_version_of(line.substr(last + 1));
  const bool valid_target = !head.target.empty() && head.target.find(' ') == std::string::npos;
  if (!version || !is_token(head.method) || !valid_target) {
    return data_error(fmt::format("'{}' is no request line", shown(line)));
  }
  head.minor_version = *version;
  WM_ASSIGN(head.headers, take_fields(text));
  return head;
}

Result<BodyLength> body_length(const ResponseHead& head, bool answers_head_request) {
  const bool never = head.status < 200 || head.status == 204 || head.status == 304;
  if (never || answers_head_request) return BodyLength{};
  WM_ASSIGN(const auto declared, declared_length(head.headers));
  return declared.value_or(BodyLength{Framing::until_close, 0});
}

Result<BodyLength> body_length(const RequestHead& head) {
  WM_ASSIGN(const auto declared, declared_length(head.headers));
  return declared.value_or(BodyLength{});
}

bool keeps_alive(int minor_version, const Headers& headers) {
  for (const auto& header : headers) {
    if (!equal_ignoring_case(header.name, "connection")) continue;
    if (has_token(header.value, "close")) return false;
    if (has_token(header.value, "keep-alive")) return true;
  }
  return minor_version >= 1;
}

std::string request_head(std::string_view method, std::string_view target, const Headers& headers) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", method, target);
  for (const auto& header : headers) text += header.name + ": " + header.value + "\r\n";
  return text + "\r\n";
}

ContentDecoder::ContentDecoder(std::string_view encoding) : encoding_(encoding) {
  if (is_gzip(encoding) || encoding == "deflate") {
    state_ = std::make_unique<inflate_state>();
    piece_.resize(kPieceBytes);
  } else {
    problem_ = "Content-Encoding '" + encoding_.substr(0, 40) + "' is not decoded (gzip and deflate are)";
  }
}

ContentDecoder::~ContentDecoder() = default;

/// "deflate" is zlib's format by the standard, and bare deflate data from some servers.
void ContentDecoder::begin(char first) {
  isal_inflate_init(state_.get());
  const bool zlib = (static_cast<unsigned char>(first) & 0x0F) == 8;
  state_->crc_flag = is_gzip(encoding_) ? ISAL_GZIP : zlib ? ISAL_ZLIB : ISAL_DEFLATE;
  begun_ = true;
}

bool ContentDecoder::decode(std::string_view bytes, const std::function<void(std::string_view)>& take) {
  if (!problem_.empty()) return false;
  while (!bytes.empty()) {
    if (!begun_) begin(bytes.front());
    state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));  // it only reads
    state_->avail_in = static_cast<std::uint32_t>(bytes.size());
    do {
      state_->next_out = reinterpret_cast<std::uint8_t*>(piece_.data());
      state_->avail_out = static_cast<std::uint32_t>(piece_.size());
      if (const int code = isal_inflate(state_.get()); code < 0) {
        problem_ = "the " + encoding_ + " data is damaged (igzip error " + std::to_string(code) + ")";
        return false;
      }
      const std::size_t got = piece_.size() - state_->avail_out;
      if (got > 0) take({piece_.data(), got});
    } while (state_->avail_out == 0);
    const std::size_t left = state_->avail_in;
    if (state_->block_state != ISAL_BLOCK_FINISH || left == bytes.size()) return true;
    begun_ = false;  // members may follow one another
    bytes.remove_prefix(bytes.size() - left);
  }
  return true;
}

std::unique_ptr<ContentDecoder> content_decoder_of(const Headers& headers) {
  const std::string* given = find_header(headers, "content-encoding");
  const std::string encoding = given == nullptr ? "" : ascii_lower(trim(*given));
  return encoding.empty() || encoding == "identity" ? nullptr : std::make_unique<ContentDecoder>(encoding);
}

}  // namespace warpmark::http
