#include "http/parser.h"

#include <utility>

namespace warpmark::http {
namespace {
constexpr int kMostInterim = 100;
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

}  // namespace warpmark::http
