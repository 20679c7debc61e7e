// What is written down about each request of a load, and what went wrong with those that have no answer. Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace warpmark::serving {

enum class Fault : std::uint8_t {
  none,
  connect,       ///< no connection: refused, unreachable, no port left
  tls,           ///< no trusted TLS
  timeout,       ///< not ended within the request's deadline
  stall,         ///< nothing arrived for the longest pause allowed
  reset,         ///< the server reset the connection
  truncated,     ///< the connection or the stream ended within the answer
  http_status,   ///< answered with a status that is no success
  redirect,      ///< 3xx: redirects are not followed, as the target would be another
  bad_http,      ///< no HTTP/1.1
  bad_stream,    ///< events too large, or no JSON in them
  stream_error,  ///< an error object within an answer of status 200
  empty,         ///< a success without a token
  finish,        ///< ended with a finish reason that is none of success: error, abort, content_filter
  censored,      ///< still going on when the load ended: no failure
};

inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::censored) + 1;

[[nodiscard]] const char* name_of(Fault fault);

/// The words of an answer, where they were asked for.
struct AnswerText {
  std::string visible, reasoning;  ///< UTF-8
  bool tool_calls = false;         ///< there were some beside, which are not in it
};

/// Times are nanoseconds of CLOCK_MONOTONIC; 0 is "did not happen".
struct RequestRecord {
  std::uint32_t prepared = 0;  ///< which of the prepared requests
  std::int32_t turn = 0;       ///< of a conversation, from 0
  std::int32_t user = 0;       ///< the connection's slot

  std::int64_t intended_ns = 0;  ///< when it was due
  std::int64_t begun_ns = 0;     ///< when a connection was taken or begun for it
  std::int64_t sent_ns = 0;      ///< when its last byte was handed to the kernel
  std::int64_t first_byte_ns = 0;
  std::int64_t first_token_ns = 0;    ///< reasoning included; of streams alone
  std::int64_t first_visible_ns = 0;  ///< of content or a tool call: the first that a user sees
  std::int64_t last_token_ns = 0;
  std::int64_t ended_ns = 0;

  std::int64_t connect_ns = 0;      ///< how long connecting took, TLS included; 0 on a connection that was there
  std::int64_t longest_gap_ns = 0;  ///< between two tokens

  std::int64_t prompt_tokens = -1;  ///< as the server says; -1 if it does not, or says 0 of what is there
  std::int64_t output_tokens = -1;
  std::int64_t reasoning_tokens = -1;
  std::int64_t cached_tokens = -1;
  std::int64_t own_tokens = -1;  ///< of the answer, as our own tokenizer counts; -1 if it did not
  std::int64_t events = 0;       ///< pieces of the answer that held a token
  std::int64_t bytes = 0;        ///< of the body
  std::int64_t retry_after_s = -1;

  /// Seconds between one event with a token and the next, and tokens in the later one (0 where not told).
  std::vector<float> gaps_s;
  std::vector<std::uint16_t> gap_tokens;
  /// The gaps are those of a sample of one in 2^k requests, for each k up to this (record_spool.h).
  std::uint8_t sample = 0;

  /// Of the reference server only: when it sent the first event with a token; 0 of others.
  std::int64_t server_first_token_ns = 0;

  Fault fault = Fault::none;
  std::int16_t status = 0;                 ///< of HTTP
  bool retried = false;                    ///< sent again, as the connection that was kept had just been closed
  bool without_done = false;               ///< the stream lacked its end mark, but said that it was finished
  bool cut_off = false;                    ///< it ended at the limit of tokens
  bool counted_here = false;               ///< output_tokens are our own tokenizer's, as the server tells none
  bool prompt_counted_here = false;        ///< prompt_tokens are
  std::string message;                     ///< of the fault, at most 200 bytes
  std::shared_ptr<const AnswerText> said;  ///< null where not asked for
};

}  // namespace warpmark::serving
