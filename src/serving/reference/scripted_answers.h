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

}  // namespace warpmark::serving
