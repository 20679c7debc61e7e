#include "serving/reference/scripted_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/lines/line_file.h"
#include "base/text.h"

namespace warpmark::serving {
namespace {

class RuleReader {
 public:
  RuleReader(const Json& rule, std::string where) : rule_(rule), where_(std::move(where)) {}

  Result<ScriptedAnswer> read() {
    if (!rule_.is_object())
      return data_error(where_ + " is no rule", "such as {\"when\": [\"2 + 2\"], \"text\": \"4\"}");
    WM_TRY(only_known_keys());
    ScriptedAnswer answer;
    WM_TRY(texts("when", answer.when));
    WM_TRY(text("ends", answer.ends));
    WM_TRY(text("text", answer.text));
    WM_TRY(text("finish_reason", answer.finish_reason));
    WM_TRY(optional_text("is", answer.is));
    WM_TRY(optional_text("body", answer.body));
    WM_TRY(bytes(answer));
    WM_TRY(number("log_likelihood", answer.log_likelihood));
    WM_TRY(number("retry_after", answer.retry_after_s));
    double status = 200, times = 0;
    WM_TRY(number("status", status));
    WM_TRY(number("times", times));
    if (!(status >= 100 && status <= 599)) return wrong("status", "100 to 599");
    answer.status = static_cast<int>(status);
    if (rule_.contains("times")) answer.times = static_cast<std::int64_t>(std::clamp(times, 0.0, 1e15));
    WM_TRY(tops(answer));
    WM_TRY(embedding(answer));
    if (rule_.contains("close") && !rule_["close"].is_boolean()) return wrong("close", "true or false");
    answer.close = rule_.value("close", false);
    return answer;
  }

 private:
  Error wrong(const char* key, const char* what) const {
    return data_error(fmt::format("{}: '{}' must be {}", where_, key, what));
  }

  Status only_known_keys() const {
    static const std::vector<std::string> known{
        "when",        "ends", "is",         "text",   "finish_reason", "top_logprobs",   "close",
        "retry_after", "body", "body_bytes", "status", "times",         "log_likelihood", "embedding"};
    for (const auto& [key, value] : rule_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const auto meant = nearest(key, known);
      return data_error(fmt::format("{}: a rule has no '{}'", where_, key),
                        meant.empty() ? "rules have: " + join(known, ", ") : "did you mean '" + meant + "'?");
    }
    return {};
  }

  Status text(const char* key, std::string& into) const {
    if (!rule_.contains(key)) return {};
    if (!rule_[key].is_string()) return wrong(key, "a text");
    into = rule_[key].get<std::string>();
    return {};
  }

  Status optional_text(const char* key, std::optional<std::string>& into) const {
    if (!rule_.contains(key)) return {};
    into.emplace();
    return text(key, *into);
  }

  Status texts(const char* key, std::vector<std::string>& into) const {
    if (!rule_.contains(key)) return {};
    if (rule_[key].is_string()) {
      into.push_back(rule_[key].get<std::string>());
      return {};
    }
    if (!rule_[key].is_array()) return wrong(key, "a list of texts");
    for (const auto& item : rule_[key]) {
      if (!item.is_string()) return wrong(key, "a list of texts");
      into.push_back(item.get<std::string>());
    }
    return {};
  }

  Status number(const char* key, double& into) const {
    if (!rule_.contains(key)) return {};
    if (!rule_[key].is_number()) return wrong(key, "a number");
    into = rule_[key].get<double>();
    return {};
  }

  /// Bodies that JSON cannot hold: what is no UTF-8.
  Status bytes(ScriptedAnswer& answer) const {
    if (!rule_.contains("body_bytes")) return {};
    if (!rule_["body_bytes"].is_array()) return wrong("body_bytes", "a list of numbers from 0 to 255");
    answer.body.emplace();
    for (const auto& item : rule_["body_bytes"]) {
      const bool fits = item.is_number_integer() && item.get<std::int64_t>() >= 0 && item.get<std::int64_t>() <= 255;
      if (!fits) return wrong("body_bytes", "a list of numbers from 0 to 255");
      *answer.body += static_cast<char>(item.get<int>());
    }
    return {};
  }

  Status tops(ScriptedAnswer& answer) const {
    if (!rule_.contains("top_logprobs")) return {};
    if (!rule_["top_logprobs"].is_object()) return wrong("top_logprobs", "an object of numbers by token");
    for (const auto& [token, value] : rule_["top_logprobs"].items()) {
      if (!value.is_number()) return wrong("top_logprobs", "an object of numbers by token");
      answer.top_logprobs.emplace_back(token, value.get<double>());
    }
    return {};
  }

  Status embedding(ScriptedAnswer& answer) const {
    if (!rule_.contains("embedding")) return {};
    const Json& given = rule_["embedding"];
    if (!given.is_array() || given.empty()) return wrong("embedding", "a list of numbers, or of such lists");
    answer.embeds_tokens = given.front().is_array();
    const Json rows = answer.embeds_tokens ? given : Json::array({given});
    for (const auto& row : rows) {
      if (!row.is_array()) return wrong("embedding", "a list of numbers, or of such lists");
      answer.embedding.emplace_back();
      for (const auto& value : row) {
        if (!value.is_number()) return wrong("embedding", "a list of numbers, or of such lists");
        answer.embedding.back().push_back(value.get<double>());
      }
    }
    return {};
  }

  const Json& rule_;
  std::string where_;
};

/// All texts below, one after another.
void collect(const Json& json, std::string& into) {
  if (json.is_string()) into += json.get_ref<const std::string&>() + "\n";
  if (json.is_structured()) {
    for (const auto& item : json) collect(item, into);
  }
}

/// A word with the white space before it is a token.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  bool in_word = false;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (tokens.empty() || (space && in_word)) tokens.emplace_back();
    in_word = !space;
    tokens.back() += c;
  }
  return tokens;
}

std::string http_answer(int status, const std::string& body, double retry_after_s) {
  const std::string retry = status == 429 ? fmt::format("Retry-After: {:g}\r\n", retry_after_s) : "";
  return fmt::format("HTTP/1.1 {} Scripted\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}", status,
                     retry, body.size(), body);
}

std::string json_answer(const Json& body) { return http_answer(200, dump_json(body, -1), 0); }

bool fits(const ScriptedAnswer& answer, std::string_view texts) {
  return answer.times > 0 && std::all_of(answer.when.begin(), answer.when.end(), [&](const std::string& text) {
           return texts.find(text) != std::string_view::npos;
         });
}

std::string no_rule(std::string_view texts) {
  constexpr std::size_t kShown = 200;
  const Json body{{"error", {{"message", "no scripted answer for: " + std::string(texts.substr(0, kShown))}}}};
  return http_answer(400, dump_json(body, -1), 0);
}

/// What does not depend on the interface: faults. Empty optional where the rule answers.
std::optional<ScriptedReply> fault_of(const ScriptedAnswer& answer) {
  if (answer.close) return ScriptedReply{};
  if (answer.body) return ScriptedReply{http_answer(answer.status, *answer.body, answer.retry_after_s)};
  if (answer.status == 200) return std::nullopt;
  const Json body{{"error", {{"message", "scripted fault"}, {"code", answer.status}}}};
  return ScriptedReply{http_answer(answer.status, dump_json(body, -1), answer.retry_after_s)};
}

Json usage_of(std::string_view texts, std::size_t output_tokens) {
  const std::size_t prompt_tokens = tokens_of(texts).size();
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", output_tokens},
          {"total_tokens", prompt_tokens + output_tokens}};
}

Json chat_logprobs(const ScriptedAnswer& answer) {
  Json top = Json::array();
  for (const auto& [token, logprob] : answer.top_logprobs) top.push_back({{"token", token}, {"logprob", logprob}});
  Json content = Json::array();
  for (const auto& token : tokens_of(answer.text)) {
    const double logprob = content.empty() && !answer.top_logprobs.empty() ? answer.top_logprobs.front().second : -0.5;
    content.push_back(
        {{"token", token}, {"logprob", logprob}, {"top_logprobs", content.empty() ? top : Json::array()}});
  }
  return {{"content", content}};
}

/// The tokens of the echoed prompt, whose end shares the rule's log-likelihood, and of the answer.
Json plain_logprobs(const ScriptedAnswer& answer, const std::string& prompt, bool echo) {
  Json tokens = Json::array(), values = Json::array(), offsets = Json::array(), tops = Json::array();
  std::size_t at = 0;
  const auto add = [&](const std::vector<std::string>& some, double logprob) {
    for (const auto& token : some) {
      values.push_back(echo && tokens.empty() ? Json() : Json(logprob));
      tokens.push_back(token);
      offsets.push_back(at);
      tops.push_back(nullptr);
      at += static_cast<std::size_t>(
          std::count_if(token.begin(), token.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    }
  };
  if (echo) {
    const auto weighed = tokens_of(answer.ends);
    add(tokens_of(std::string_view(prompt).substr(0, prompt.size() - answer.ends.size())), -1);
    add(weighed, weighed.empty() ? 0 : answer.log_likelihood / static_cast<double>(weighed.size()));
  }
  const std::size_t first = tokens.size();
  add(tokens_of(answer.text), -0.5);
  if (first < tops.size() && !answer.top_logprobs.empty()) {
    tops[first] = Json::object();
    for (const auto& [token, logprob] : answer.top_logprobs) tops[first][token] = logprob;
  }
  return {{"tokens", tokens}, {"token_logprobs", values}, {"text_offset", offsets}, {"top_logprobs", tops}};
}

ScriptedReply chat_reply(const ScriptedAnswer& answer, const Json& request, std::string_view texts) {
  Json choice{{"index", 0},
              {"message", {{"role", "assistant"}, {"content", answer.text}}},
              {"finish_reason", answer.finish_reason}};
  if (request.value("logprobs", Json()) == Json(true)) choice["logprobs"] = chat_logprobs(answer);
  return {json_answer({{"object", "chat.completion"},
                       {"choices", Json::array({choice})},
                       {"usage", usage_of(texts, tokens_of(answer.text).size())}}),
          tokens_of(answer.text), answer.finish_reason};
}

ScriptedReply plain_reply(const ScriptedAnswer& answer, const Json& request, const std::string& prompt) {
  const bool echo = request.value("echo", Json()) == Json(true);
  Json choice{{"index", 0}, {"text", (echo ? prompt : "") + answer.text}, {"finish_reason", answer.finish_reason}};
  if (request.contains("logprobs")) choice["logprobs"] = plain_logprobs(answer, prompt, echo);
  return {json_answer({{"object", "text_completion"},
                       {"choices", Json::array({choice})},
                       {"usage", usage_of(prompt, tokens_of(answer.text).size())}}),
          tokens_of(answer.text), answer.finish_reason};
}

/// One rule for each input; a fault of any of them is the whole answer's.
ScriptedReply embedding_reply(std::vector<ScriptedAnswer>& answers, const Json& request) {
  Json inputs = Json::array();
  if (request.contains("messages")) {
    std::string texts;
    collect(request["messages"], texts);
    inputs.push_back(texts);
  } else if (request.contains("input")) {
    inputs = request["input"].is_array() ? request["input"] : Json::array({request["input"]});
  }
  Json data = Json::array();
  for (const auto& input : inputs) {
    std::string text;
    collect(input, text);
    const auto found = std::find_if(answers.begin(), answers.end(), [&](const ScriptedAnswer& answer) {
      const bool embeds = answer.is || !answer.embedding.empty();
      const bool fails = answer.close || answer.body || answer.status != 200;
      return (embeds || (fails && answer.ends.empty())) && fits(answer, text) &&
             (!answer.is || text == *answer.is + "\n");
    });
    if (found == answers.end()) return {no_rule(text), {}, {}};
    --found->times;
    if (auto fault = fault_of(*found); fault) return *fault;
    if (found->embedding.empty()) return {no_rule(text), {}, {}};
    data.push_back({{"index", data.size()},
                    {"embedding", found->embeds_tokens ? Json(found->embedding) : Json(found->embedding.front())}});
  }
  return {json_answer({{"object", "list"}, {"data", data}}), {}, {}};
}

}  // namespace

Result<std::vector<ScriptedAnswer>> parse_scripted_answers(std::string_view json_lines, std::string_view file) {
  std::vector<ScriptedAnswer> answers;
  WM_TRY(each_filled_line(json_lines, file, [&](std::string_view line, const std::string& where) -> Status {
    WM_ASSIGN(const Json rule, parse_json(line, where));
    WM_ASSIGN(auto answer, RuleReader(rule, where).read());
    answers.push_back(std::move(answer));
    return {};
  }));
  if (answers.empty()) return data_error(std::string(file) + " has no rules");
  return answers;
}

ScriptedReply scripted_reply(std::vector<ScriptedAnswer>& answers, std::string_view body) {
  const auto parsed = parse_json(body, "body");
  if (!parsed.ok() || !parsed->is_object()) return {no_rule("a body that is no JSON object"), {}, {}};
  const Json& request = *parsed;
  const bool embeds =
      request.contains("input") || (request.contains("messages") && request.contains("encoding_format"));
  if (embeds) return embedding_reply(answers, request);
  std::string texts;
  collect(request, texts);
  const bool chat = request.contains("messages");
  const std::string prompt =
      !chat && request.contains("prompt") && request["prompt"].is_string() ? request["prompt"].get<std::string>() : "";
  const auto found = std::find_if(answers.begin(), answers.end(), [&](const ScriptedAnswer& answer) {
    return !answer.is && answer.embedding.empty() && fits(answer, texts) &&
           (answer.ends.empty() || prompt.ends_with(answer.ends));
  });
  if (found == answers.end()) return {no_rule(texts), {}, {}};
  --found->times;
  if (auto fault = fault_of(*found); fault) return *fault;
  return chat ? chat_reply(*found, request, texts) : plain_reply(*found, request, prompt);
}

}  // namespace warpmark::serving
