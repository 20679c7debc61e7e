// The first requests to a server, before the load. See prepare_load.h.
#include <fmt/format.h>

#include <algorithm>

#include "http/client.h"
#include "http/sse.h"
#include "serving/answers/answer_reader.h"
#include "serving/answers/chunk.h"
#include "serving/client/load_clock.h"
#include "serving/client/prepare_load.h"
#include "stats/random.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kProbeWords[] = {16, 200, 1000};

/// Of a prompt of so many words.
std::uint64_t seed_of(const ProbeOptions& options, std::int64_t words) {
  return stats::derive_seed(options.seed, static_cast<std::uint64_t>(words));
}

std::string said(const http::Response& response) {
  const std::string* target = http::find_header(response.headers, "location");
  if (response.status >= 300 && response.status < 400 && target != nullptr) return "to " + server_text(*target);
  return error_text(response.body);
}

std::string hint_for(int status, const Target& target) {
  if (status == 401 || status == 403) return "is the key right? --api-key-file FILE, or the variable MODEL_API_KEY";
  if (status == 404) return "is the address right? asked for " + api_url(target).text() + ", model " + target.model;
  if (status >= 300 && status < 400) return "redirects are not followed: give --api-base the address it redirects to";
  return "";
}

std::string without_key(std::string text, const std::string& key) {
  for (auto at = text.find(key); !key.empty() && at != std::string::npos; at = text.find(key, at + 3)) {
    text.replace(at, key.size(), "***");
  }
  return text;
}

/// Of a whole answer, or of all events of a stream. False where it is neither.
bool facts_of(const std::string& body, ChunkFacts& facts) {
  if (scan_chunk(body, facts)) return true;
  http::SseParser events;
  std::string_view rest(body);
  bool any = false;
  while (const auto event = events.next(rest)) {
    ChunkFacts piece;
    if (!scan_chunk(event->data, piece)) continue;
    any = true;
    if (piece.prompt_tokens > 0) facts.prompt_tokens = piece.prompt_tokens;
    if (piece.cached_tokens >= 0) facts.cached_tokens = piece.cached_tokens;
  }
  return any;
}

/// As the load will ask: some servers answer streams alone.
Result<ChunkFacts> ask_body(http::Client& client, const Target& target, std::string body) {
  http::Request request{.method = "POST", .url = api_url(target), .headers = api_headers(target)};
  request.headers.push_back({"Content-Type", "application/json"});
  request.body = std::move(body);
  if (target.signer != nullptr) {
    const auto now_s = clock_ns(CLOCK_REALTIME) / 1'000'000'000;
    for (auto& header :
         target.signer->headers_for("POST", request.url.target, request.url.authority(), request.body, now_s)) {
      request.headers.push_back(std::move(header));
    }
  }
  WM_ASSIGN(const auto response, client.send(request));
  if (response.status != 200) {
    return environment_error(without_key(fmt::format("{} answers {} {}: {}", request.url.text(), response.status,
                                                     server_text(response.reason, 60), said(response)),
                                         target.key),
                             hint_for(response.status, target));
  }
  ChunkFacts facts;
  if (!facts_of(response.body, facts)) {
    return data_error(fmt::format("{} answers with neither JSON nor a stream: {}", request.url.text(),
                                  server_text(response.body, 80)),
                      "is this the address of an inference server?");
  }
  facts.error_message = {};  // pointed into the response
  return facts;
}

Result<ChunkFacts> ask(http::Client& client, const Target& target, std::int64_t words, std::uint64_t seed) {
  return ask_body(client, target, body_of(target, words, 1, target.stream && target.api->streams, seed));
}

/// The first question's size again, with other words, and then the same words once more: a warm server, and one that
/// may have the prompt in its prefix cache.
Status probe_warm(http::Client& client, const Target& target, const ProbeOptions& options, FirstProbe& probe) {
  for (double* seconds : {&probe.warm_s, &probe.repeated_s}) {
    const std::int64_t asked_ns = load_now_ns();
    WM_ASSIGN(const auto facts, ask(client, target, kProbeWords[0], seed_of(options, 77)));
    *seconds = static_cast<double>(load_now_ns() - asked_ns) * 1e-9;
    probe.cached_tokens = facts.cached_tokens;
  }
  return {};
}

/// Tokens of the probes by our own tokenizer: what a server that tells none would count, and how many one that does
/// adds to the shortest.
Status count_probes(const Target& target, const ProbeOptions& options, const std::vector<TokenProbe>& reported,
                    FirstProbe& probe) {
  std::vector<TokenProbe> own;
  for (const std::int64_t words : kProbeWords) {
    WM_ASSIGN(const auto ids, target.tokenizer->encode(probe_text(words, seed_of(options, words))));
    own.push_back({static_cast<double>(words), static_cast<double>(ids.size())});
  }
  if (!probe.fit.measured) probe.fit = fit_tokens(own);
  if (!reported.empty()) probe.fit.template_tokens = std::max(0.0, reported.front().tokens - own.front().tokens);
  return {};
}

}  // namespace

Result<FirstProbe> inspect_server(const Target& target, const ProbeOptions& options) {
  http::Client client({.deadline_s = options.deadline_s, .tls = target.tls, .interrupted = options.interrupted});
  FirstProbe probe;
  if (!options.body.empty()) {
    WM_TRY(ask_body(client, target, options.body));
    return probe;
  }
  std::vector<TokenProbe> probes;
  for (const std::int64_t words : kProbeWords) {
    const std::int64_t asked_ns = load_now_ns();
    const auto facts = ask(client, target, words, seed_of(options, words));
    if (!facts.ok() && probes.empty()) return facts.error();
    if (!facts.ok() || facts->prompt_tokens < 0) break;
    if (probe.first_s == 0) probe.first_s = static_cast<double>(load_now_ns() - asked_ns) * 1e-9;
    probes.push_back({static_cast<double>(words), static_cast<double>(facts->prompt_tokens)});
    if (!options.calibrate || !options.own_words) break;
  }
  if (!options.calibrate) {
    if (target.tokenizer != nullptr) WM_TRY(count_probes(target, options, probes, probe));
    return probe;
  }
  WM_TRY(probe_warm(client, target, options, probe));
  probe.fit = fit_tokens(probes);
  if (target.tokenizer != nullptr) WM_TRY(count_probes(target, options, probes, probe));
  if (options.own_words && !probe.fit.measured) {
    probe.note = probes.size() < 2
                     ? "the server reports no token counts: words are counted as tokens"
                     : "the server's token counts do not grow with the prompt: words are counted as tokens";
  }
  return probe;
}

}  // namespace warpmark::serving
