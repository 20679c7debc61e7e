#include "serving/answers/answer_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "base/untrusted/input.h"

namespace warpmark::serving {
namespace {

/// "[DONE]" with blanks around, quoted, or in small letters, as servers and proxies write it.
bool is_done_mark(std::string_view data) {
  if (data.size() > 32) return false;
  data = trim(data);
  if (data.size() > 2 && data.front() == '"' && data.back() == '"') data = trim(data.substr(1, data.size() - 2));
  return ascii_lower(data) == "[done]";
}

/// Servers end so what they could not, or would not, answer to the end.
bool is_failure(std::string_view finish_reason) {
  const std::string reason = ascii_lower(finish_reason);
  for (const char* bad : {"error", "abort", "cancel", "content_filter", "safety", "refusal", "fail", "timeout"}) {
    if (reason.starts_with(bad)) return true;
  }
  return false;
}

}  // namespace

void AnswerReader::begin(RequestRecord& record) {
  record_ = &record;
  parser_.begin();
  events_.begin();
  decoder_.reset();
  body_.clear();
  bad_finish_.clear();
  gaps_s_.clear();
  gap_tokens_.clear();
  texts_ = {};
  tokens_reported_ = 0;
  last_server_ns_ = -1;
  tool_calls_ = false;
  head_taken_ = is_stream_ = done_seen_ = finish_seen_ = ended_ = false;
}

void AnswerReader::take(std::string_view bytes, std::int64_t now_ns) {
  if (record_->first_byte_ns == 0 && !bytes.empty()) record_->first_byte_ns = now_ns;
  last_server_ns_ = -1;
  while (!bytes.empty() && !ended_) {
    const http::Decoded piece = parser_.take(bytes);
    bytes.remove_prefix(piece.consumed);
    if (parser_.failed()) return fail(Fault::bad_http, parser_.problem(), now_ns);
    if (parser_.has_head() && !head_taken_) take_head(now_ns);
    if (!piece.body.empty()) take_body(piece.body, now_ns);
    if (!ended_ && parser_.done()) end_of_answer(now_ns);
    if (piece.consumed == 0) break;
  }
}

void AnswerReader::take_head(std::int64_t) {
  head_taken_ = true;
  const auto& head = parser_.head();
  record_->status = static_cast<std::int16_t>(head.status);
  const std::string* type = http::find_header(head.headers, "content-type");
  const bool json = type != nullptr && type->find("json") != std::string::npos;
  const bool events = type != nullptr && type->find("event-stream") != std::string::npos;
  is_stream_ = head.status == 200 && (events || (format_->streams && !json));
  decoder_ = http::content_decoder_of(head.headers);
  if (const std::string* wait = http::find_header(head.headers, "retry-after")) {
    if (const auto seconds = parse_integer(*wait); seconds.ok() && *seconds >= 0) record_->retry_after_s = *seconds;
  }
}

void AnswerReader::take_body(std::string_view body, std::int64_t now_ns) {
  record_->bytes += static_cast<std::int64_t>(body.size());
  if (decoder_ == nullptr) return take_decoded(body, now_ns);
  const bool sound = decoder_->decode(body, [&](std::string_view piece) {
    if (!ended_) take_decoded(piece, now_ns);
  });
  if (!sound && !ended_) fail(Fault::bad_http, decoder_->problem(), now_ns);
}

void AnswerReader::take_decoded(std::string_view body, std::int64_t now_ns) {
  if (!is_stream_) {
    if (body_.size() + body.size() > format_->most_body) {
      return fail(Fault::bad_stream, "the answer is larger than allowed", now_ns);
    }
    body_.append(body);
    return;
  }
  while (!ended_) {
    const auto event = events_.next(body);
    if (events_.failed()) return fail(Fault::bad_stream, events_.problem(), now_ns);
    if (!event) return;
    take_event(*event, now_ns);
  }
}

void AnswerReader::take_event(const http::SseEvent& event, std::int64_t now_ns) {
  const std::string_view data = event.data;
  if (event.type == "error") {
    return fail(Fault::stream_error, error_text("{\"error\":" + std::string(data) + "}"), now_ns);
  }
  if (is_done_mark(data)) {
    done_seen_ = true;
    return;
  }
  ChunkFacts facts;
  if (!scan_chunk(data, facts, texts())) {
    return fail(Fault::bad_stream, "an event is no JSON: " + std::string(data.substr(0, 60)), now_ns);
  }
  take_facts(facts, now_ns);
}

void AnswerReader::take_facts(const ChunkFacts& facts, std::int64_t now_ns) {
  if (facts.error) {
    const std::string message = without_escapes(facts.error_message);
    if (facts.error_code >= 100 && facts.error_code < 600)
      record_->status = static_cast<std::int16_t>(facts.error_code);
    return fail(Fault::stream_error, message, now_ns);
  }
  if (facts.has_token()) take_token(facts, now_ns);
  if (facts.prompt_tokens >= 0) record_->prompt_tokens = facts.prompt_tokens;
  if (facts.output_tokens >= 0) record_->output_tokens = facts.output_tokens;
  if (facts.reasoning_tokens >= 0) record_->reasoning_tokens = facts.reasoning_tokens;
  if (facts.cached_tokens >= 0) record_->cached_tokens = facts.cached_tokens;
  finish_seen_ = finish_seen_ || facts.finished || facts.answers;
  if (is_failure(facts.finish_reason)) bad_finish_ = std::string(facts.finish_reason);
  tool_calls_ = tool_calls_ || facts.tool_call;
  record_->cut_off = record_->cut_off || facts.cut_off;
}

void AnswerReader::take_token(const ChunkFacts& facts, std::int64_t now_ns) {
  auto& record = *record_;
  last_server_ns_ = facts.sent_ns;
  const std::int64_t reported = facts.output_tokens >= 0 ? facts.output_tokens - tokens_reported_ : 0;
  if (facts.output_tokens >= 0) tokens_reported_ = facts.output_tokens;
  if (record.first_token_ns == 0) {
    record.first_token_ns = now_ns;
    record.server_first_token_ns = std::max<std::int64_t>(facts.sent_ns, 0);
  } else {
    const std::int64_t gap_ns = now_ns - record.last_token_ns;
    gaps_s_.push_back(static_cast<float>(static_cast<double>(gap_ns) * 1e-9));
    gap_tokens_.push_back(static_cast<std::uint16_t>(std::clamp<std::int64_t>(reported, 0, 65535)));
    record.longest_gap_ns = std::max(record.longest_gap_ns, gap_ns);
  }
  if (record.first_visible_ns == 0 && (facts.content || facts.tool_call)) record.first_visible_ns = now_ns;
  record.last_token_ns = now_ns;
  ++record.events;
}

void AnswerReader::end_of_answer(std::int64_t now_ns) {
  if (record_->status >= 300 && record_->status < 400) {
    const std::string* target = http::find_header(parser_.head().headers, "location");
    return fail(Fault::redirect, target == nullptr ? "without a target" : "to " + *target, now_ns);
  }
  if (record_->status != 200) return fail(Fault::http_status, error_text(body_), now_ns);
  if (!is_stream_) return take_whole_body(now_ns);
  if (!done_seen_) {
    if (const auto last = events_.unfinished()) take_event(*last, now_ns);
    if (ended_) return;
  }
  if (!done_seen_ && !format_->done_mark.empty()) {
    if (!finish_seen_) return fail(Fault::truncated, "the stream ended without saying that it was finished", now_ns);
    record_->without_done = true;
  } else if (!done_seen_ && !finish_seen_) {
    return fail(Fault::truncated, "the stream ended without saying that it was finished", now_ns);
  }
  complete(now_ns);
}

void AnswerReader::take_whole_body(std::int64_t now_ns) {
  ChunkFacts facts;
  if (!scan_chunk(body_, facts, texts()))
    return fail(Fault::bad_stream, "the answer is no JSON: " + error_text(body_), now_ns);
  take_facts(facts, now_ns);
  if (ended_) return;
  record_->first_token_ns = record_->first_visible_ns = 0;  // what came at once does not show its first token
  if (facts.answers && record_->events == 0) return end(now_ns);
  complete(now_ns);
}

void AnswerReader::complete(std::int64_t now_ns) {
  if (!bad_finish_.empty()) return fail(Fault::finish, bad_finish_, now_ns);
  if (record_->events == 0) return fail(Fault::empty, "the answer holds no token", now_ns);
  end(now_ns);
}

void AnswerReader::end_of_connection(std::int64_t now_ns) {
  if (ended_) return;
  if (done_seen_) return close_after_done(now_ns);
  const bool had_head = parser_.has_head();
  parser_.end_of_connection();
  if (parser_.done()) return end_of_answer(now_ns);
  fail(had_head || record_->first_byte_ns != 0 ? Fault::truncated : Fault::reset, parser_.problem(), now_ns);
}

void AnswerReader::close_after_done(std::int64_t now_ns) { complete(now_ns); }

void AnswerReader::fail(Fault fault, std::string_view message, std::int64_t now_ns) {
  record_->fault = fault;
  record_->message = server_text(message);
  end(now_ns);
}

void AnswerReader::end(std::int64_t now_ns) {
  ended_ = true;
  record_->ended_ns = now_ns;
  // A server that counts says more than 0 of a prompt, and of an answer that is there.
  if (record_->prompt_tokens == 0) record_->prompt_tokens = -1;
  if (record_->output_tokens == 0 && record_->events > 0) record_->output_tokens = -1;
  record_->gaps_s.assign(gaps_s_.begin(), gaps_s_.end());
  if (tokens_reported_ > 0) record_->gap_tokens.assign(gap_tokens_.begin(), gap_tokens_.end());
  if (format_->keep_texts && record_->events > 0) {
    record_->said = std::make_shared<AnswerText>(
        AnswerText{without_escapes(texts_.visible), without_escapes(texts_.reasoning), tool_calls_});
  }
}

std::string server_text(std::string_view bytes, std::size_t most) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = character_at(bytes);
    const std::size_t taken = character.bytes == 0 ? 1 : character.bytes;
    const char first = bytes.front();
    std::string shown(bytes.substr(0, taken));
    if (first == '\n' || first == '\r' || first == '\t') {
      shown = " ";
    } else if (character.bytes == 0) {
      shown = fmt::format("\\x{:02x}", static_cast<unsigned char>(first));
    } else if (!may_be_shown(character.code)) {
      const bool short_code = character.code < 0x100;
      shown = short_code ? fmt::format("\\x{:02x}", character.code) : fmt::format("\\u{:04x}", character.code);
    }
    if (text.size() + shown.size() > most) break;
    text += shown;
    bytes.remove_prefix(taken);
  }
  return text;
}

std::string without_escapes(std::string_view between_quotes) {
  if (between_quotes.find('\\') == std::string::npos) return std::string(between_quotes);
  const auto json = parse_json("\"" + std::string(between_quotes) + "\"", "an answer");
  return json.ok() && json->is_string() ? json->get<std::string>() : std::string(between_quotes);
}

std::string error_text(std::string_view body) {
  ChunkFacts facts;
  if (scan_chunk(body, facts) && !facts.error_message.empty()) return server_text(without_escapes(facts.error_message));
  return server_text(body);
}

}  // namespace warpmark::serving
