// Everything a load sends, made before it starts: bodies, heads, conversations and their schedule.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "http/url.h"
#include "serving/client/load_plan.h"
#include "serving/tokens/tokenizer.h"
#include "serving/traffic/api.h"
#include "serving/traffic/arrivals.h"
#include "serving/traffic/dataset.h"
#include "serving/traffic/prompts.h"
#include "serving/traffic/scenario.h"

namespace warpmark::serving {

struct Target {
  std::vector<http::Url> bases;
  const Api* api = nullptr;
  std::string model;
  std::string key;
  std::shared_ptr<const RequestSigner> signer;  ///< instead of a key; may be null
  http::Headers headers;                        ///< of the user
  Json more = Json::object();                   ///< merged into every body (RFC 7396)
  bool stream = true;
  bool exact_output = false;  ///< the server understands ignore_eos
  std::shared_ptr<const http::TlsContext> tls;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< of the model, to count beside the server; may be null
  std::string tokenizer_name;
  bool keep_texts = false;  ///< of answers, in their records; with a tokenizer in any case
};

/// Conversations: several turns, each with the ones before it.
struct Conversations {
  std::int64_t turns = 1;
  double think_s = 0;         ///< mean pause before a turn
  bool think_varies = true;   ///< exponential, else always the same
  double tool_s = 0;          ///< that a tool takes before a turn, always the same
  bool chained = false;       ///< each turn goes to the server after that of the last one
  std::string next_question;  ///< of rows that are whole bodies: asked in each turn after the first
};

struct Traffic {
  Scenario scenario;
  std::int64_t batch = 1;   ///< documents a request: embeddings, reranking
  double prefix_ratio = 0;  ///< of the prompt that all requests share
  std::int64_t prefix_tokens = 0;
  Conversations conversations;
  std::vector<DatasetRow> dataset;
  Trace trace;
  double trace_speed = 1;  ///< 2 replays in half the time
  Arrivals arrivals;
  std::int64_t users = 1;
  double users_per_s = 0;
  std::int64_t most_requests = 0;
  std::int64_t most_conversations = 0;
  std::int64_t least_requests = 0;  ///< also where the time is up before
  bool together = false;            ///< closed loop: the users' requests are one query of several samples
  bool all_at_once = false;         ///< open loop: everything is due at the start
  double duration_s = 0;
  std::uint64_t seed = 1;         ///< of this load's prompts and arrivals
  std::uint64_t shared_seed = 1;  ///< of what all loads of a command share: a prefix, the blocks of a trace
};

/// Resolves the hosts and makes bodies and schedule. Usage error where the scenario does not fit the API.
[[nodiscard]] Result<LoadPlan> prepare_load(const Target& target, const Traffic& traffic, const TokenFit& fit);

/// The text that such a body asks: words with a serial number before them, both by the seed.
[[nodiscard]] std::string probe_text(std::int64_t words, std::uint64_t seed);

/// One body as text, as prepare_load makes them: for a first look at the server, and for probing its token counts.
[[nodiscard]] std::string body_of(const Target& target, std::int64_t words, std::int64_t output_tokens, bool stream,
                                  std::uint64_t seed);

/// The address of the API on the first server.
[[nodiscard]] http::Url api_url(const Target& target, std::size_t base = 0);
[[nodiscard]] http::Headers api_headers(const Target& target);

/// Asks the server once: that it answers, with the right key and model, before a load of thousands. Then, if
/// `calibrate`, with prompts of different lengths, to learn how many tokens it counts for our words. The error says
/// what it answered.
struct FirstProbe {
  TokenFit fit;
  std::string note;  ///< what could not be learned, or empty
  // Of one token after a prompt of the same length, from end to end; 0 where not asked.
  double first_s = 0;               ///< the very first request: a cold server loads its model
  double warm_s = 0;                ///< a later one
  double repeated_s = 0;            ///< the same words again, which a prefix cache may have
  std::int64_t cached_tokens = -1;  ///< of them, as the server says
};
struct ProbeOptions {
  bool calibrate = true;
  bool own_words = true;   ///< prompts are made of our words; those of files need no calibration
  double deadline_s = 60;  ///< of each request
  std::uint64_t seed = 1;  ///< of its prompts
  std::string body;        ///< asked instead of prompts of made-up words, which a server of given answers may refuse
  const std::atomic<bool>* interrupted = nullptr;
};
[[nodiscard]] Result<FirstProbe> inspect_server(const Target& target, const ProbeOptions& options);

}  // namespace warpmark::serving
