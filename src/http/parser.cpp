#include "http/parser.h"

#include <algorithm>
#include <utility>

namespace warpmark::http {
namespace {

constexpr int kMostInterim = 100;

constexpr std::size_t kMostFramingBytes = 64 << 10;
constexpr int kMostSizeDigits = 15;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::size_t HeadCollector::take(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !complete_ && !too_long()) {
    const char c = bytes[at++];
    if (text_.empty() && (c == '\r' || c == '\n')) continue;  // RFC 9112, 2.2: empty lines before a message
    text_ += c;
    if (c == '\n') {
      complete_ = line_empty_;
      line_empty_ = true;
    } else if (c != '\r') {
      line_empty_ = false;
    }
  }
  return at;
}

void HeadCollector::clear() {
  text_.clear();
  complete_ = false;
  line_empty_ = true;
}

void ResponseParser::begin(bool answers_head_request) {
  collector_.clear();
  head_ = {};
  body_ = BodyDecoder();
  has_head_ = false;
  ends_with_connection_ = false;
  answers_head_request_ = answers_head_request;
  interim_ = 0;
  problem_.clear();
}

Decoded ResponseParser::take(std::string_view bytes) {
  if (failed() || done()) return {};
  Decoded taken;
  while (!has_head_ && taken.consumed < bytes.size()) {
    taken.consumed += collector_.take(bytes.substr(taken.consumed));
    if (collector_.too_long()) problem_ = "the head of the answer is longer than 64 KiB";
    if (collector_.complete()) take_head();
    if (failed()) return taken;
  }
  if (!has_head_) return taken;
  const Decoded piece = body_.take(bytes.substr(taken.consumed));
  if (body_.failed()) problem_ = body_.problem();
  return {taken.consumed + piece.consumed, piece.body};
}

void ResponseParser::take_head() {
  auto head = parse_response_head(collector_.text());
  if (!head.ok()) {
    problem_ = head.error().what;
    return;
  }
  collector_.clear();
  if (head->status < 200 && head->status != 101) {
    if (++interim_ > kMostInterim) problem_ = "the server sends interim answers (1xx) without end";
    return;
  }
  const auto length = body_length(*head, answers_head_request_);
  if (!length.ok()) {
    problem_ = length.error().what;
    return;
  }
  head_ = std::move(*head);
  body_ = BodyDecoder(*length);
  ends_with_connection_ = length->framing == Framing::until_close;
  has_head_ = true;
}

void ResponseParser::end_of_connection() {
  if (failed() || done()) return;
  if (!has_head_) {
    problem_ =
        collector_.text().empty() ? "the connection ended before an answer" : "the connection ended within the head";
    return;
  }
  body_.end_of_connection();
  if (body_.failed()) problem_ = body_.problem();
}

bool ResponseParser::reusable() const {
  return done() && !ends_with_connection_ && keeps_alive(head_.minor_version, head_.headers);
}

void RequestParser::begin() {
  collector_.clear();
  head_ = {};
  body_ = BodyDecoder();
  has_head_ = false;
  problem_.clear();
}

Decoded RequestParser::take(std::string_view bytes) {
  if (failed() || done()) return {};
  Decoded taken;
  if (!has_head_) {
    taken.consumed = collector_.take(bytes);
    if (collector_.too_long()) problem_ = "the head of the request is longer than 64 KiB";
    if (collector_.complete()) take_head();
    if (failed() || !has_head_) return taken;
  }
  const Decoded piece = body_.take(bytes.substr(taken.consumed));
  if (body_.failed()) problem_ = body_.problem();
  return {taken.consumed + piece.consumed, piece.body};
}

void RequestParser::take_head() {
  auto head = parse_request_head(collector_.text());
  if (!head.ok()) {
    problem_ = head.error().what;
    return;
  }
  const auto length = body_length(*head);
  if (!length.ok()) {
    problem_ = length.error().what;
    return;
  }
  head_ = std::move(*head);
  body_ = BodyDecoder(*length);
  has_head_ = true;
  collector_.clear();
}

BodyDecoder::BodyDecoder(const BodyLength& length) : state_(State::done), left_(length.bytes) {
  if (length.framing == Framing::length && length.bytes > 0) state_ = State::length;
  if (length.framing == Framing::chunked) state_ = State::chunk_size;
  if (length.framing == Framing::until_close) state_ = State::until_close;
}

Decoded BodyDecoder::take(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !done() && !failed()) {
    if (state_ == State::until_close) return {bytes.size(), bytes.substr(at)};
    if (state_ == State::length || state_ == State::chunk_data) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - at));
      left_ -= size;
      if (left_ == 0) state_ = state_ == State::length ? State::done : State::chunk_end;
      return {at + size, bytes.substr(at, size)};
    }
    take_framing(bytes[at++]);
  }
  return {at, {}};
}

void BodyDecoder::end_of_connection() {
  if (done() || failed()) return;
  if (state_ == State::until_close) {
    state_ = State::done;
  } else {
    fail("the connection ended within the answer");
  }
}

void BodyDecoder::take_framing(char c) {
  switch (state_) {
    case State::chunk_size:
      if (const int digit = hex_digit(c); digit >= 0) {
        if (++digits_ > kMostSizeDigits) return fail("a chunk's size has too many digits");
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
      } else if (c == '\n') {
        end_of_size_line();
      } else if (c == ';' || c == '\r' || c == ' ' || c == '\t') {
        state_ = State::chunk_extension;
      } else {
        fail("a chunk's size is no hexadecimal number");
      }
      return;
    case State::chunk_extension:
      if (c == '\n') return end_of_size_line();
      if (++framing_bytes_ > kMostFramingBytes) fail("a chunk's extension is too long");
      return;
    case State::chunk_end:
      if (c == '\n') {
        state_ = State::chunk_size;
        left_ = 0;
        digits_ = 0;
        framing_bytes_ = 0;
      } else if (c != '\r') {
        fail("a chunk is longer than its size says");
      }
      return;
    case State::trailer:
      if (++framing_bytes_ > kMostFramingBytes) return fail("the trailers are too long");
      if (c == '\n') {
        if (line_empty_) state_ = State::done;
        line_empty_ = true;
      } else if (c != '\r') {
        line_empty_ = false;
      }
      return;
    case State::length:
    case State::chunk_data:
    case State::until_close:
    case State::done:
    case State::failed: return;
  }
}

void BodyDecoder::end_of_size_line() {
  if (digits_ == 0) return fail("a chunk's size is missing");
  framing_bytes_ = 0;
  state_ = left_ == 0 ? State::trailer : State::chunk_data;
}

void BodyDecoder::fail(const char* problem) {
  state_ = State::failed;
  problem_ = problem;
}

}  // namespace warpmark::http
