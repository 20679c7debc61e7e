// What a reference server says to which request: answers, log-probabilities, embeddings and faults from a file of JSON
// lines, so that what a client makes of them can be known beforehand. Pure.
//
// A rule: {"when": ["every one of these texts"], "text": "the answer"}. The first rule that fits answers. Of a rule:
//   when            texts that all stand in the request, addresses of pictures among them; none fits everything
//   ends            what a prompt of completions ends with: with "echo" its tokens share "log_likelihood"
//   is              the whole input of embeddings, which "embedding" answers; a list of lists is one for each token
//   text, finish_reason ("stop"), top_logprobs ({token: log-probability} of the first token)
//   status, retry_after, body or body_bytes: an error, or an answer that is none; close: the connection ends instead
//   times           how often it applies; the rules below it take over then
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpmark::serving {

struct ScriptedAnswer {
  std::vector<std::string> when;
  std::string ends;
  std::optional<std::string> is;
  std::string text;
  std::string finish_reason = "stop";
  std::vector<std::pair<std::string, double>> top_logprobs;
  double log_likelihood = 0;
  std::vector<std::vector<double>> embedding;  ///< one, or one for each token
  bool embeds_tokens = false;
  int status = 200;
  double retry_after_s = 0;
  std::optional<std::string> body;
  bool close = false;
  std::int64_t times = INT64_MAX;
};

/// Data error with the line for what is no rule.
[[nodiscard]] Result<std::vector<ScriptedAnswer>> parse_scripted_answers(std::string_view json_lines,
                                                                         std::string_view file);

struct ScriptedReply {
  std::string bytes;  ///< the whole HTTP answer; empty: the connection is closed
  /// Of an answer with a text: its tokens, and why it ended, for a stream.
  std::vector<std::string> tokens;
  std::string finish_reason;
};

/// The answer to a request's body, which counts against its rule's `times`. An error of status 400 where no rule fits.
[[nodiscard]] ScriptedReply scripted_reply(std::vector<ScriptedAnswer>& answers, std::string_view body);

// What the reference server does: the timing of its answers, their form, and what goes wrong in them. Plain data.

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
