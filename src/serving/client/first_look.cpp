// The first requests to a server, before the load. See prepare_load.h.
#include <fmt/format.h>

#include <algorithm>

#include "http/client.h"
#include "serving/answers/chunk.h"
#include "serving/client/load_clock.h"
#include "serving/client/prepare_load.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kProbeWords[] = {16, 200, 1000};

std::string said(const http::Response& response) {
  ChunkFacts facts;
  const bool json = scan_chunk(response.body, facts) && !facts.error_message.empty();
  return json ? std::string(facts.error_message.substr(0, 200)) : response.body.substr(0, 200);
}

std::string hint_for(int status, const Target& target) {
  if (status == 401 || status == 403) return "is the key right? --api-key-file FILE, or the variable MODEL_API_KEY";
  if (status == 404) return "is the address right? asked for " + api_url(target).text() + ", model " + target.model;
  if (status >= 300 && status < 400) return "give the address it redirects to";
  return "";
}

std::string without_key(std::string text, const std::string& key) {
  for (auto at = text.find(key); !key.empty() && at != std::string::npos; at = text.find(key, at + 3)) {
    text.replace(at, key.size(), "***");
  }
  return text;
}

Result<ChunkFacts> ask(http::Client& client, const Target& target, std::int64_t words, std::uint64_t seed) {
  http::Request request{.method = "POST", .url = api_url(target), .headers = api_headers(target)};
  request.headers.push_back({"Content-Type", "application/json"});
  request.body = body_of(target, words, 1, false, seed);
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
                                                     response.reason, said(response)),
                                         target.key),
                             hint_for(response.status, target));
  }
  ChunkFacts facts;
  if (!scan_chunk(response.body, facts)) {
    return data_error(fmt::format("{} does not answer with JSON: {}", request.url.text(), response.body.substr(0, 80)),
                      "is this the address of an inference server?");
  }
  facts.error_message = {};  // pointed into the response
  return facts;
}

/// The first question's size again, with other words, and then the same words once more: a warm server, and one that
/// may have the prompt in its prefix cache.
Status look_warm(http::Client& client, const Target& target, FirstLook& look) {
  for (double* seconds : {&look.warm_s, &look.repeated_s}) {
    const std::int64_t asked_ns = load_now_ns();
    WM_ASSIGN(const auto facts, ask(client, target, kProbeWords[0], 77));
    *seconds = static_cast<double>(load_now_ns() - asked_ns) * 1e-9;
    look.cached_tokens = facts.cached_tokens;
  }
  return {};
}

/// Tokens of the probes by our own tokenizer: what a server that tells none would count, and how many one that does
/// adds to the shortest.
Status count_probes(const Target& target, const std::vector<TokenProbe>& told, FirstLook& look) {
  std::vector<TokenProbe> own;
  for (const std::int64_t words : kProbeWords) {
    WM_ASSIGN(const auto ids, target.tokenizer->encode(probe_text(words, static_cast<std::uint64_t>(words))));
    own.push_back({static_cast<double>(words), static_cast<double>(ids.size())});
  }
  if (!look.fit.measured) look.fit = fit_tokens(own);
  if (!told.empty()) look.fit.template_tokens = std::max(0.0, told.front().tokens - own.front().tokens);
  return {};
}

}  // namespace

Result<FirstLook> look_at_server(const Target& target, bool calibrate, double deadline_s,
                                 const std::atomic<bool>* interrupted) {
  http::Client client({.deadline_s = deadline_s, .tls = target.tls, .interrupted = interrupted});
  FirstLook look;
  std::vector<TokenProbe> probes;
  for (const std::int64_t words : kProbeWords) {
    const std::int64_t asked_ns = load_now_ns();
    const auto facts = ask(client, target, words, static_cast<std::uint64_t>(words));
    if (!facts.ok() && probes.empty()) return facts.error();
    if (!facts.ok() || facts->prompt_tokens < 0) break;
    if (look.first_s == 0) look.first_s = static_cast<double>(load_now_ns() - asked_ns) * 1e-9;
    probes.push_back({static_cast<double>(words), static_cast<double>(facts->prompt_tokens)});
    if (calibrate) continue;
    if (target.tokenizer != nullptr) WM_TRY(count_probes(target, probes, look));
    return look;
  }
  WM_TRY(look_warm(client, target, look));
  look.fit = fit_tokens(probes);
  if (target.tokenizer != nullptr) WM_TRY(count_probes(target, probes, look));
  if (calibrate && !look.fit.measured) {
    look.note = probes.size() < 2
                    ? "the server does not tell token counts: a word is taken for a token"
                    : "the server's token counts do not grow with the prompt: a word is taken for a token";
  }
  return look;
}

}  // namespace warpmark::serving
