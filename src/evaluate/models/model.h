// Whoever answers: an OpenAI-compatible server, or a command. An edge; tests have scripted ones.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "http/url.h"

namespace warpmark::evaluate {

/// Which of a server's interfaces a request is for.
enum class Api { chat, completions, embeddings };

struct Reply {
  std::string text;
  std::string finish_reason;  ///< "stop", "length", ...; empty where it is not told
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> output_tokens;
  std::vector<std::string> tokens;
  std::vector<double> token_logprobs;
  /// Further fields of a command's reply, such as log_likelihoods; of a server's: "text_offset", the tokens' places
  /// in the text in characters, "top_logprobs" of the first token ({token: log-probability}), "embedding" or
  /// "token_embeddings". Null without any.
  Json extra;
  double latency_s = 0;  ///< from sending to the last byte
};

/// Why there is no reply, and whether asking again may help.
struct AskFailure {
  std::string what;
  bool may_pass = false;  ///< 429, 5xx, a lost connection, a deadline
  double wait_s = 0;      ///< as the server asked for; 0 where it did not
  bool is_ours = false;   ///< the endpoint or command cannot work at all: a wrong path, no such program
};

struct AskResult {
  std::optional<Reply> reply;
  AskFailure failure;
};

/// One conversation partner of one thread.
class Model {
 public:
  virtual ~Model() = default;
  /// `request` is the body of an OpenAI-compatible request. Comes back within the deadline.
  virtual AskResult ask(Api api, const Json& request, double deadline_s, const std::atomic<bool>* interrupted) = 0;
};

/// Makes one for a thread.
using MakeModel = std::function<Result<std::unique_ptr<Model>>()>;

/// A reply out of what an OpenAI-compatible server answers (chat, completions, embeddings), or a command: {"text":
/// ...}. A data error says what is missing.
[[nodiscard]] Result<Reply> reply_of(const Json& body);

struct EndpointOptions {
  http::Url url;        ///< up to the version: http://host:8000/v1
  std::string model;    ///< named in each request; empty: not named
  std::string api_key;  ///< sent as a bearer token; empty: none
};

/// One connection, kept as long as the server does. 408, 409, 425, 429 and 5xx, lost connections and deadlines may
/// pass; Retry-After is heeded.
[[nodiscard]] std::unique_ptr<Model> endpoint_model(EndpointOptions options);

/// A program that answers: it gets a JSON line for each request on its standard input and writes a JSON line for each
/// answer, in order: {"text": "..."}, or what an OpenAI-compatible server would say. It stays running; one that ends is
/// started again for the next request. `command` is run by /bin/sh in a process group of its own, which is killed with
/// the model.
[[nodiscard]] std::unique_ptr<Model> command_model(const std::string& command);

}  // namespace warpmark::evaluate
