// What the reference server does: the timing of its answers, their form, and what goes wrong in them. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "serving/reference/scripted_answers.h"

namespace warpmark::serving {

enum class UsagePlace { last, finish, every, none };

struct ReferenceScript {
  double ttft_s = 0.05;               ///< from the whole request to the first token
  double itl_s = 0.01;                ///< between tokens
  double prefill_s_per_token = 0;     ///< added to the first token's time for each token of the prompt
  double jitter = 0;                  ///< coefficient of variation of both, lognormal
  std::int64_t output_tokens = 128;   ///< of requests that set no limit
  std::int64_t tokens_per_event = 1;  ///< as speculative decoding has it
  std::int64_t reasoning_tokens = 0;  ///< at the beginning of each answer
  std::int64_t slots = 0;             ///< answers under way at a time, the others wait; 0 without limit
  UsagePlace usage = UsagePlace::last;
  bool role_event = true;  ///< the first event has a role and no text
  bool done_mark = true;
  std::string line_end = "\n";
  /// Share of the requests, 0..1, that end so.
  double status_500 = 0, status_429 = 0, reset = 0, truncate = 0, stall = 0, stream_error = 0;
  std::string key;  ///< demanded as a bearer token; empty for none
  std::uint64_t seed = 1;
  /// Of chats, completions and embeddings that are no streams; empty: words without a meaning.
  std::vector<ScriptedAnswer> answers;
};

/// "error=0.01", "rate-limit=0.1", "reset=..", "truncate=..", "stall=..", "stream-error=..": one fault and its share.
[[nodiscard]] Status add_fault(std::string_view text, ReferenceScript& script);
[[nodiscard]] Result<UsagePlace> parse_usage_place(std::string_view text);

}  // namespace warpmark::serving
