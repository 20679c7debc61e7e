// Replies out of JSON.
#include "evaluate/models/model.h"

namespace warpmark::evaluate {
namespace {

std::optional<std::int64_t> count_in(const Json& usage, const char* name) {
  if (!usage.is_object() || !usage.contains(name) || !usage[name].is_number_integer()) return std::nullopt;
  return usage[name].get<std::int64_t>();
}

void read_tokens(const Json& choice, Reply& reply) {
  if (!choice.contains("logprobs") || !choice["logprobs"].is_object()) return;
  const Json& logprobs = choice["logprobs"];
  if (logprobs.contains("content") && logprobs["content"].is_array()) {  // chat
    for (const auto& item : logprobs["content"]) {
      if (!item.is_object() || !item.contains("token") || !item["token"].is_string()) continue;
      if (!item.contains("logprob") || !item["logprob"].is_number()) continue;
      reply.tokens.push_back(item["token"].get<std::string>());
      reply.token_logprobs.push_back(item["logprob"].get<double>());
    }
    return;
  }
  const bool lists = logprobs.contains("tokens") && logprobs["tokens"].is_array() &&
                     logprobs.contains("token_logprobs") && logprobs["token_logprobs"].is_array();
  if (!lists || logprobs["tokens"].size() != logprobs["token_logprobs"].size()) return;
  for (std::size_t i = 0; i < logprobs["tokens"].size(); ++i) {
    if (!logprobs["tokens"][i].is_string() || !logprobs["token_logprobs"][i].is_number()) continue;
    reply.tokens.push_back(logprobs["tokens"][i].get<std::string>());
    reply.token_logprobs.push_back(logprobs["token_logprobs"][i].get<double>());
  }
}

}  // namespace

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
