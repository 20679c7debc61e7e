#include "evaluate/models/model.h"

#include <fmt/format.h>

#include "accuracy/text/unicode.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "http/client.h"
#include "model/fields/names.h"

namespace warpmark::evaluate {
namespace {

constexpr std::size_t kShownOfBody = 200;

bool status_may_pass(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

double retry_after_s(const http::Response& response) {
  const std::string* text = http::find_header(response.headers, "Retry-After");
  if (text == nullptr) return 0;
  const auto seconds = parse_number(std::string(trim(*text)));
  return seconds.ok() && *seconds > 0 ? *seconds : 0;
}

constexpr auto kApiPaths = in_order(Api::embeddings, "chat/completions", "completions", "embeddings");
const char* path_of(Api api) { return name_in(kApiPaths, static_cast<std::int64_t>(api)); }

class EndpointModel : public Model {
 public:
  explicit EndpointModel(EndpointOptions options) : options_(std::move(options)) {}

  AskResult ask(Api api, const Json& request, double deadline_s, const std::atomic<bool>* interrupted) override {
    http::Request message{.method = "POST", .url = http::below(options_.url, path_of(api))};
    message.headers.push_back({"Content-Type", "application/json"});
    if (!options_.api_key.empty()) message.headers.push_back({"Authorization", "Bearer " + options_.api_key});
    Json body = request;
    if (!options_.model.empty()) body["model"] = options_.model;
    message.body = dump_json(body, -1);
    if (!client_ || deadline_s != deadline_s_) {
      http::RequestOptions settings;
      settings.deadline_s = deadline_s_ = deadline_s;
      settings.interrupted = interrupted;
      client_ = std::make_unique<http::Client>(settings);
    }
    const std::int64_t began = monotonic_ns();
    const auto response = client_->send(message);
    if (!response.ok()) return failed(response.error().what, response.error().kind != ErrorKind::usage, 0);
    if (response->status != 200) {
      const std::string said = accuracy::cleaned_utf8(response->body.substr(0, kShownOfBody));
      return failed(fmt::format("status {}: {}", response->status, std::string(trim(said))),
                    status_may_pass(response->status), retry_after_s(*response));
    }
    const bool damaged = !accuracy::is_utf8(response->body);
    const auto json = parse_json(response->body, "the server's answer");
    if (!json.ok()) return failed(damaged ? "the server's answer is no UTF-8" : json.error().what, false, 0);
    auto reply = reply_of(*json);
    if (!reply.ok()) return failed(reply.error().what, false, 0);
    reply->latency_s = static_cast<double>(monotonic_ns() - began) * 1e-9;
    return {std::move(*reply), {}};
  }

 private:
  static AskResult failed(std::string what, bool may_pass, double wait_s) {
    return {std::nullopt, {.what = std::move(what), .may_pass = may_pass, .wait_s = wait_s}};
  }
  EndpointOptions options_;
  std::unique_ptr<http::Client> client_;
  double deadline_s_ = 0;
};

std::optional<std::int64_t> count_in(const Json& usage, const char* name) {
  if (!usage.is_object() || !usage.contains(name) || !usage[name].is_number_integer()) return std::nullopt;
  return usage[name].get<std::int64_t>();
}

/// The field if it is there and a list; else null.
const Json* list_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

/// {token: log-probability} of the likeliest tokens at the first place, from either form: a list of objects (chat) or
/// an object (completions). A token that is there twice, as byte fallbacks are, keeps the likelier.
Json top_of(const Json& first) {
  Json top = Json::object();
  const auto add = [&](const std::string& token, double logprob) {
    if (!top.contains(token) || top[token].get<double>() < logprob) top[token] = logprob;
  };
  if (first.is_array()) {
    for (const auto& item : first) {
      const bool fits = item.is_object() && item.contains("token") && item["token"].is_string() &&
                        item.contains("logprob") && item["logprob"].is_number();
      if (fits) add(item["token"].get<std::string>(), item["logprob"].get<double>());
    }
  } else if (first.is_object()) {
    for (const auto& [token, logprob] : first.items()) {
      if (logprob.is_number()) add(token, logprob.get<double>());
    }
  }
  return top.empty() ? Json() : top;
}

void read_chat_tokens(const Json& content, Reply& reply) {
  for (const auto& item : content) {
    if (!item.is_object() || !item.contains("token") || !item["token"].is_string()) continue;
    if (!item.contains("logprob") || !item["logprob"].is_number()) continue;
    reply.tokens.push_back(item["token"].get<std::string>());
    reply.token_logprobs.push_back(item["logprob"].get<double>());
  }
  const bool has_top = !content.empty() && content.front().is_object() && content.front().contains("top_logprobs");
  if (!has_top) return;
  if (Json top = top_of(content.front()["top_logprobs"]); !top.is_null()) reply.extra["top_logprobs"] = std::move(top);
}

/// Where each token begins in the text, in characters: as the server says, else one after another. Marks of the
/// beginning, which servers list among the tokens and leave out of the text, count for nothing.
std::vector<std::int64_t> places_of(const Json& tokens, const Json* offsets, std::string_view text) {
  constexpr std::size_t kMostMarks = 2;
  std::vector<std::int64_t> places;
  std::int64_t at = 0, marks = 0;
  bool begun = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string token = tokens[i].is_string() ? tokens[i].get<std::string>() : "";
    const auto length = static_cast<std::int64_t>(accuracy::code_points(token).size());
    const bool reported = offsets != nullptr && (*offsets)[i].is_number_integer();
    places.push_back((reported ? (*offsets)[i].get<std::int64_t>() : at) - marks);
    begun = begun || i >= kMostMarks || (!token.empty() && text.starts_with(token));
    if (!begun) marks += length;
    at += length;
  }
  return places;
}

/// The first token of an echoed prompt has no log-probability and is left out.
void read_plain_tokens(const Json& choice, const Json& logprobs, Reply& reply) {
  const Json* tokens = list_in(logprobs, "tokens");
  const Json* values = list_in(logprobs, "token_logprobs");
  if (tokens == nullptr || values == nullptr || tokens->size() != values->size()) return;
  const Json* offsets = list_in(logprobs, "text_offset");
  if (offsets != nullptr && offsets->size() != tokens->size()) offsets = nullptr;
  const bool has_text = choice.contains("text") && choice["text"].is_string();
  const auto places = places_of(*tokens, offsets, has_text ? choice["text"].get<std::string>() : "");
  Json kept = Json::array();
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    if (!(*tokens)[i].is_string() || !(*values)[i].is_number()) continue;
    reply.tokens.push_back((*tokens)[i].get<std::string>());
    reply.token_logprobs.push_back((*values)[i].get<double>());
    kept.push_back(places[i]);
  }
  reply.extra["text_offset"] = std::move(kept);
  const Json* tops = list_in(logprobs, "top_logprobs");
  if (tops == nullptr || tops->empty()) return;
  if (Json top = top_of(tops->front()); !top.is_null()) reply.extra["top_logprobs"] = std::move(top);
}

void read_tokens(const Json& choice, Reply& reply) {
  if (!choice.contains("logprobs") || !choice["logprobs"].is_object()) return;
  const Json& logprobs = choice["logprobs"];
  if (const Json* content = list_in(logprobs, "content"); content != nullptr) return read_chat_tokens(*content, reply);
  read_plain_tokens(choice, logprobs, reply);
}

/// A list of numbers, or a list of such lists: one for each token, as servers without pooling answer.
Result<Reply> embedding_reply(const Json& body) {
  const Json& first = body["data"].front();
  const Json* embedding = first.is_object() ? list_in(first, "embedding") : nullptr;
  if (embedding == nullptr || embedding->empty()) {
    return data_error("the answer has no list 'embedding'", "ask for embeddings as numbers (encoding_format float)");
  }
  Reply reply;
  if (body.contains("usage")) reply.prompt_tokens = count_in(body["usage"], "prompt_tokens");
  reply.extra = Json{{embedding->front().is_array() ? "token_embeddings" : "embedding", *embedding}};
  return reply;
}

}  // namespace

std::unique_ptr<Model> endpoint_model(EndpointOptions options) {
  return std::make_unique<EndpointModel>(std::move(options));
}

Result<Reply> reply_of(const Json& body) {
  if (!body.is_object()) return data_error("the answer is no JSON object");
  Reply reply;
  const auto text_of = [&](const Json& value) {
    reply.text = value.is_string() ? value.get<std::string>() : "";
    return value.is_string() || value.is_null();
  };
  if (body.contains("usage")) {
    reply.prompt_tokens = count_in(body["usage"], "prompt_tokens");
    reply.output_tokens = count_in(body["usage"], "completion_tokens");
  }
  if (body.contains("text") && !body.contains("choices")) {  // a command's
    if (!text_of(body["text"])) return data_error("'text' of the answer is no text");
    if (body.contains("finish_reason") && body["finish_reason"].is_string()) {
      reply.finish_reason = body["finish_reason"].get<std::string>();
    }
    reply.extra = body;
    read_tokens(body, reply);
    return reply;
  }
  if (const Json* data = list_in(body, "data"); data != nullptr && !data->empty()) return embedding_reply(body);
  if (!body.contains("choices") || !body["choices"].is_array() || body["choices"].empty() ||
      !body["choices"].front().is_object()) {
    if (body.contains("error")) return data_error("the server says: " + dump_json(body["error"], -1).substr(0, 200));
    return data_error("the answer has neither 'choices' nor 'text'");
  }
  const Json& choice = body["choices"].front();
  if (choice.contains("finish_reason") && choice["finish_reason"].is_string()) {
    reply.finish_reason = choice["finish_reason"].get<std::string>();
  }
  const bool chat =
      choice.contains("message") && choice["message"].is_object() && choice["message"].contains("content");
  const bool plain = !chat && choice.contains("text");
  if (!chat && !plain) return data_error("the answer's choice has neither a message nor a text");
  if (!text_of(chat ? choice["message"]["content"] : choice["text"])) return data_error("the answer's text is no text");
  read_tokens(choice, reply);
  return reply;
}

}  // namespace warpmark::evaluate
