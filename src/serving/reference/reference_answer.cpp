#include "serving/reference/reference_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/units.h"

namespace warpmark::serving {
namespace {

constexpr std::int64_t kTemplateTokens = 7;
constexpr std::size_t kTimePlaces = 20;
constexpr const char* kId = "reference-0";

std::int64_t words_in(std::string_view text) {
  std::int64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool letter = static_cast<unsigned char>(c) > ' ';
    words += letter && !inside ? 1 : 0;
    inside = letter;
  }
  return words;
}

/// Of all texts below, whatever their keys but these, which are no prompt.
std::int64_t words_below(const Json& json) {
  if (json.is_string()) return words_in(json.get_ref<const std::string&>());
  std::int64_t words = 0;
  if (json.is_array()) {
    for (const auto& item : json) words += words_below(item);
  } else if (json.is_object()) {
    for (const auto& [key, item] : json.items()) {
      if (key != "role" && key != "type" && key != "image_url") words += words_below(item);
    }
  }
  return words;
}

std::string chunk_of(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

std::string event_of(const ReferenceScript& script, std::string_view type, std::string_view data) {
  const std::string& end = script.line_end;
  std::string text;
  if (!type.empty()) text = fmt::format("event: {}{}", type, end);
  return text + fmt::format("data: {}{}{}", data, end, end);
}

std::string usage_text(const Asked& asked, std::int64_t output_tokens) {
  return fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})", asked.prompt_tokens,
                     output_tokens, asked.prompt_tokens + output_tokens);
}

/// A chat or completions event; `choice` is what stands within the choice.
std::string choice_event(const Asked& asked, std::string_view choice, std::string_view more) {
  const bool chat = asked.kind == AnswerKind::chat;
  return fmt::format(R"({{"id":"{}","object":"{}","created":1700000000,"model":"{}",)"
                     R"("system_fingerprint":"fp_reference","choices":[{{"index":0,{},"logprobs":null}}]{}}})",
                     kId, chat ? "chat.completion.chunk" : "text_completion", asked.model, choice, more);
}

std::string repeated_word(std::int64_t tokens) {
  std::string text;
  for (std::int64_t i = 0; i < tokens; ++i) text += " word";
  return text;
}

/// The last `tokens` of those so far.
std::string words_before(const Asked& asked, std::int64_t tokens, std::int64_t so_far) {
  if (asked.words.empty()) return repeated_word(tokens);
  std::string text;
  for (std::int64_t i = so_far - tokens; i < so_far; ++i) text += asked.words[static_cast<std::size_t>(i)];
  return text;
}

std::string text_delta(const Asked& asked, bool reasoning, const std::string& text) {
  switch (asked.kind) {
    case AnswerKind::completions: return fmt::format(R"("text":"{}","finish_reason":null)", text);
    case AnswerKind::messages:
      return reasoning ? fmt::format(R"({{"type":"thinking_delta","thinking":"{}"}})", text)
                       : fmt::format(R"({{"type":"text_delta","text":"{}"}})", text);
    default:
      return fmt::format(R"("delta":{{"{}":"{}"}},"finish_reason":null)", reasoning ? "reasoning_content" : "content",
                         text);
  }
}

std::string json_answer(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", body.size(),
                     body);
}

std::string list_of(std::int64_t count, std::string_view item) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + fmt::format(fmt::runtime(item), i);
  return "[" + text + "]";
}

struct Path {
  std::string_view end;
  AnswerKind kind;
};
constexpr Path kPaths[] = {{"/chat/completions", AnswerKind::chat}, {"/completions", AnswerKind::completions},
                           {"/messages", AnswerKind::messages},     {"/responses", AnswerKind::responses},
                           {"/embeddings", AnswerKind::embeddings}, {"/rerank", AnswerKind::rerank}};

std::int64_t limit_of(const Json& body, const ReferenceScript& script) {
  for (const char* key : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
    if (const auto found = body.find(key); found != body.end() && found->is_number_integer()) {
      return std::clamp<std::int64_t>(found->get<std::int64_t>(), 1, 1'000'000);
    }
  }
  return script.output_tokens;
}

Asked asked_by(const Json& body, AnswerKind kind, const ReferenceScript& script) {
  Asked asked{.kind = kind};
  for (const char* key : {"messages", "prompt", "input", "documents", "query", "system"}) {
    if (const auto found = body.find(key); found != body.end()) {
      asked.prompt_tokens += words_below(*found);
      if (found->is_array() && (kind == AnswerKind::embeddings || kind == AnswerKind::rerank)) {
        asked.documents = static_cast<std::int64_t>(found->size());
      }
    }
  }
  asked.prompt_tokens += kTemplateTokens;
  if (const auto model = body.find("model"); model != body.end() && model->is_string()) {
    asked.model = dump_json(*model, -1);  // escaped, as it is written into JSON again
    asked.model = asked.model.substr(1, asked.model.size() - 2);
  }
  const auto stream = body.find("stream");
  asked.stream = stream != body.end() && stream->is_boolean() && stream->get<bool>();
  const auto options = body.find("stream_options");
  asked.usage_in_stream =
      options != body.end() && options->is_object() && options->value("include_usage", Json(false)) == Json(true);
  asked.output_tokens = limit_of(body, script);
  return asked;
}

}  // namespace

Result<Asked> parse_asked(std::string_view method, std::string_view target, std::string_view body,
                          const ReferenceScript& script) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (method == "GET" && path.ends_with("/models")) return Asked{.kind = AnswerKind::models};
  const auto* found =
      std::find_if(std::begin(kPaths), std::end(kPaths), [&](const Path& item) { return path.ends_with(item.end); });
  if (method != "POST" || found == std::end(kPaths))
    return with_code(data_error(fmt::format("no such path: {} {}", method, path)), ErrorCode::no_such_path);
  WM_ASSIGN(const Json json, parse_json(body, "body"));
  if (!json.is_object()) return data_error("the body is no JSON object");
  return asked_by(json, found->kind, script);
}

void EventBytes::stamp(std::int64_t now_ns) {
  if (time_at == 0) return;
  for (std::size_t i = kTimePlaces; i-- > 0; now_ns /= 10) {
    bytes[time_at + i] = now_ns > 0 ? static_cast<char>('0' + now_ns % 10) : ' ';
  }
}

std::string stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
         "Transfer-Encoding: chunked\r\n\r\n";
}

std::string opening_events(const Asked& asked, const ReferenceScript& script) {
  if (asked.kind == AnswerKind::messages) {
    const auto start =
        fmt::format(R"({{"type":"message_start","message":{{"id":"{}","type":"message","role":"assistant",)"
                    R"("content":[],"model":"{}","usage":{{"input_tokens":{},"output_tokens":1}}}}}})",
                    kId, asked.model, asked.prompt_tokens);
    return chunk_of(event_of(script, "message_start", start));
  }
  if (asked.kind != AnswerKind::chat || !script.role_event) return {};
  return chunk_of(event_of(
      script, "", choice_event(asked, R"("delta":{"role":"assistant","content":""},"finish_reason":null)", "")));
}

EventBytes token_event(const Asked& asked, const ReferenceScript& script, bool reasoning, std::int64_t tokens,
                       std::int64_t tokens_so_far) {
  const std::string text = words_before(asked, tokens, tokens_so_far), delta = text_delta(asked, reasoning, text);
  std::string more = script.usage == UsagePlace::every ? R"(,"usage":)" + usage_text(asked, tokens_so_far) : "";
  const std::string mark = R"(,"warpmark_sent_ns":)";
  more += mark + std::string(kTimePlaces, '0');
  EventBytes event;
  if (asked.kind == AnswerKind::messages) {
    event.bytes = event_of(script, "content_block_delta",
                           fmt::format(R"({{"type":"content_block_delta","index":0,"delta":{}{}}})", delta, more));
  } else if (asked.kind == AnswerKind::responses) {
    const char* type = reasoning ? "response.reasoning_text.delta" : "response.output_text.delta";
    event.bytes = event_of(script, type, fmt::format(R"({{"type":"{}","delta":"{}"{}}})", type, text, more));
  } else {
    event.bytes = event_of(script, "", choice_event(asked, delta, more));
  }
  event.bytes = chunk_of(event.bytes);
  event.time_at = event.bytes.find(mark) + mark.size();
  return event;
}

std::string closing_events(const Asked& asked, const ReferenceScript& script) {
  const std::string usage = usage_text(asked, asked.output_tokens);
  std::string events;
  if (asked.kind == AnswerKind::messages) {
    const auto delta =
        fmt::format(R"({{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":{}}}}})",
                    asked.output_tokens);
    events = event_of(script, "message_delta", delta) + event_of(script, "message_stop", R"({"type":"message_stop"})");
  } else if (asked.kind == AnswerKind::responses) {
    const auto completed = fmt::format(
        R"({{"type":"response.completed","response":{{"id":"{}","usage":{{"input_tokens":{},"output_tokens":{}}}}}}})",
        kId, asked.prompt_tokens, asked.output_tokens);
    events = event_of(script, "response.completed", completed);
  } else {
    const bool with_finish = script.usage == UsagePlace::finish;
    const char* empty = asked.kind == AnswerKind::chat ? R"("delta":{})" : R"("text":"")";
    events = event_of(script, "",
                      choice_event(asked, fmt::format(R"({},"finish_reason":"{}")", empty, asked.finish_reason),
                                   with_finish ? R"(,"usage":)" + usage : ""));
    if (script.usage == UsagePlace::last && asked.usage_in_stream) {
      events += event_of(script, "", fmt::format(R"({{"id":"{}","choices":[],"usage":{}}})", kId, usage));
    }
    if (script.done_mark) events += event_of(script, "", "[DONE]");
  }
  return chunk_of(events) + "0\r\n\r\n";
}

std::string error_event(const ReferenceScript& script) {
  return chunk_of(event_of(script, "", R"({"error":{"message":"scripted fault","type":"server_error","code":500}})")) +
         "0\r\n\r\n";
}

std::string whole_answer(const Asked& asked) {
  const std::string usage = usage_text(asked, asked.output_tokens), text = repeated_word(asked.output_tokens);
  switch (asked.kind) {
    case AnswerKind::models: return json_answer(R"({"object":"list","data":[{"id":"reference","object":"model"}]})");
    case AnswerKind::embeddings:
      return json_answer(
          fmt::format(R"({{"object":"list","data":{},"model":"{}","usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                      list_of(asked.documents, R"({{"index":{},"embedding":[0.25,-0.5,0.125,0.75]}})"), asked.model,
                      asked.prompt_tokens, asked.prompt_tokens));
    case AnswerKind::rerank:
      return json_answer(fmt::format(R"({{"results":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                                     list_of(asked.documents, R"({{"index":{},"relevance_score":0.5}})"),
                                     asked.prompt_tokens, asked.prompt_tokens));
    case AnswerKind::messages:
      return json_answer(
          fmt::format(R"({{"id":"{}","type":"message","role":"assistant","content":[{{"type":"text","text":"{}"}}],)"
                      R"("stop_reason":"end_turn","usage":{{"input_tokens":{},"output_tokens":{}}}}})",
                      kId, text, asked.prompt_tokens, asked.output_tokens));
    case AnswerKind::responses:
      return json_answer(
          fmt::format(R"({{"id":"{}","object":"response","output":[{{"type":"message",)"
                      R"("content":[{{"type":"output_text","text":"{}"}}]}}],"usage":{{"input_tokens":{},)"
                      R"("output_tokens":{}}}}})",
                      kId, text, asked.prompt_tokens, asked.output_tokens));
    case AnswerKind::completions:
      return json_answer(
          fmt::format(R"({{"id":"{}","choices":[{{"index":0,"text":"{}","finish_reason":"length"}}],"usage":{}}})", kId,
                      text, usage));
    case AnswerKind::chat: break;
  }
  return json_answer(
      fmt::format(R"({{"id":"{}","object":"chat.completion","model":"{}","choices":[{{"index":0,)"
                  R"("message":{{"role":"assistant","content":"{}"}},"finish_reason":"length"}}],"usage":{}}})",
                  kId, asked.model, text, usage));
}

std::string error_answer(int status, std::string_view message) {
  const std::string body = dump_json(Json{{"error", {{"message", message}, {"code", status}}}}, -1);
  return fmt::format("HTTP/1.1 {} Scripted\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}", status,
                     status == 429 ? "Retry-After: 1\r\n" : "", body.size(), body);
}

Status add_fault(std::string_view text, ReferenceScript& script) {
  const auto equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto share =
      equals == std::string_view::npos ? Result<double>(usage_error("")) : parse_ratio(text.substr(equals + 1));
  constexpr std::pair<std::string_view, double ReferenceScript::*> kShares[] = {
      {"error", &ReferenceScript::status_500}, {"rate-limit", &ReferenceScript::status_429},
      {"reset", &ReferenceScript::reset},      {"truncate", &ReferenceScript::truncate},
      {"stall", &ReferenceScript::stall},      {"stream-error", &ReferenceScript::stream_error}};
  const auto* found =
      std::find_if(std::begin(kShares), std::end(kShares), [&](const auto& item) { return item.first == name; });
  if (found == std::end(kShares) || !share.ok() || *share < 0 || *share > 1) {
    return usage_error(fmt::format("'{}' is no fault", text),
                       "such as error=1%; faults: error, rate-limit, reset, truncate, stall, stream-error");
  }
  script.*(found->second) = *share;
  return {};
}

Result<UsagePlace> parse_usage_place(std::string_view text) {
  if (text == "last") return UsagePlace::last;
  if (text == "finish") return UsagePlace::finish;
  if (text == "every") return UsagePlace::every;
  if (text == "none") return UsagePlace::none;
  return usage_error(fmt::format("usage cannot stand at '{}'", text), "last, finish, every or none");
}

}  // namespace warpmark::serving
