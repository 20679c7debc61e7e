#include "http/sse.h"

#include <cstring>

namespace warpmark::http {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::size_t find_line_end(std::string_view bytes) {
  const void* lf = std::memchr(bytes.data(), '\n', bytes.size());
  const auto before_lf =
      lf == nullptr ? bytes.size() : static_cast<std::size_t>(static_cast<const char*>(lf) - bytes.data());
  const void* cr = std::memchr(bytes.data(), '\r', before_lf);
  if (cr != nullptr) return static_cast<std::size_t>(static_cast<const char*>(cr) - bytes.data());
  return lf == nullptr ? std::string_view::npos : before_lf;
}

}  // namespace

void SseParser::begin() {
  const SseLimits limits = limits_;
  std::string line = std::move(line_), type = std::move(type_), data = std::move(data_);
  *this = SseParser(limits);
  // The memory serves the next stream.
  line.clear(), type.clear(), data.clear();
  line_ = std::move(line), type_ = std::move(type), data_ = std::move(data);
}

std::optional<SseEvent> SseParser::next(std::string_view& bytes) {
  if (given_) {
    data_.clear();
    type_.clear();
    has_data_ = given_ = false;
  }
  while (!bytes.empty() && !failed()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const std::size_t end = find_line_end(bytes);
    const std::size_t size = end == std::string_view::npos ? bytes.size() : end;
    if (line_.size() + size > limits_.line_bytes) {
      problem_ = "a line of the stream is too long";
      break;
    }
    if (end == std::string_view::npos) {
      line_.append(bytes);
      break;
    }
    std::string_view line = bytes.substr(0, end);
    if (!line_.empty()) {
      line_.append(line);
      line = line_;
    }
    const bool ends_event = take_line(line);
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    line_.clear();
    if (ends_event) {
      given_ = true;
      return SseEvent{type_, data_};
    }
  }
  bytes = {};
  return std::nullopt;
}

std::optional<SseEvent> SseParser::unfinished() {
  if (failed() || given_) return std::nullopt;
  if (!line_.empty()) (void)take_line(std::string(line_));
  line_.clear();
  if (!has_data_) return std::nullopt;
  given_ = true;
  return SseEvent{type_, data_};
}

bool SseParser::take_line(std::string_view line) {
  if (at_start_) {
    at_start_ = false;
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) {
    if (!has_data_) type_.clear();
    return has_data_;
  }
  if (line.front() == ':') {
    ++comments_;
    return false;
  }
  const auto colon = line.find(':');
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
  return false;
}

void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (data_.size() + value.size() + 1 > limits_.event_bytes) {
      problem_ = "an event of the stream is too large";
      return;
    }
    if (has_data_) data_ += '\n';
    data_.append(value);
    has_data_ = true;
  } else if (name == "event") {
    type_.assign(value);
  }
}

}  // namespace warpmark::http
