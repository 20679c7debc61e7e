#include "evaluate/requests.h"

#include "accuracy/text/unicode.h"
#include "stats/random.h"

namespace warpmark::evaluate {
namespace {

/// As many as OpenAI's interface allows.
constexpr int kTopTokens = 20;

std::int64_t characters_in(std::string_view text) {
  return static_cast<std::int64_t>(accuracy::code_points(text).size());
}

Json user_content(const std::string& prompt, const std::vector<Picture>& pictures) {
  if (pictures.empty()) return prompt;
  Json parts = Json::array();
  for (const auto& picture : pictures) parts.push_back({{"type", "image_url"}, {"image_url", {{"url", picture.url}}}});
  parts.push_back({{"type", "text"}, {"text", prompt}});
  return parts;
}

Json begun_request(const Task& task, const std::string& prompt, const std::vector<Picture>& pictures) {
  Json body = Json::object();
  if (task.generation.chat) {
    body["messages"] = Json::array();
    if (!task.system.empty()) body["messages"].push_back({{"role", "system"}, {"content", task.system}});
    body["messages"].push_back({{"role", "user"}, {"content", user_content(prompt, pictures)}});
  } else {
    body["prompt"] = task.system.empty() ? prompt : task.system + "\n\n" + prompt;
  }
  return body;
}

Request text_request(const Task& task, Json body, std::uint64_t seed, std::int64_t sample) {
  body["max_tokens"] = task.generation.max_tokens;
  body["temperature"] = task.generation.temperature;
  if (!task.generation.stop.empty()) body["stop"] = task.generation.stop;
  if (task.generation.logprobs) body["logprobs"] = task.generation.chat ? Json(true) : Json(1);
  // Samples of one item must differ, and be the same when asked for again.
  constexpr std::uint64_t kSeedMask = 0x7FFFFFFF;
  if (task.generation.temperature > 0) {
    body["seed"] = stats::derive_seed(seed, static_cast<std::uint64_t>(sample)) & kSeedMask;
  }
  return {.api = task.generation.chat ? Api::chat : Api::completions, .body = std::move(body)};
}

/// What would be said first, and what else might have been.
Request first_token_request(const Task& task, Json body) {
  body["max_tokens"] = 1;
  body["temperature"] = 0;
  body["logprobs"] = task.generation.chat ? Json(true) : Json(kTopTokens);
  if (task.generation.chat) body["top_logprobs"] = kTopTokens;
  return {.api = task.generation.chat ? Api::chat : Api::completions, .body = std::move(body)};
}

/// The prompt with a choice behind it, whose tokens the server weighs. White space at the prompt's end belongs to the
/// choice, as in lm-evaluation-harness: tokenizers put it there. One token is generated, because servers refuse to
/// generate none, and not looked at.
Request weighing_request(const Task& task, Json body, const std::string& choice) {
  const std::string prompt = body["prompt"].get<std::string>();
  const std::string_view context = accuracy::stripped_right(prompt);
  const std::string whole = prompt + (context.size() == prompt.size() ? task.before_choice : "") + choice;
  body["prompt"] = whole;
  body["max_tokens"] = 1;
  body["temperature"] = 0;
  body["echo"] = true;
  body["logprobs"] = 1;
  return {.api = Api::completions,
          .body = std::move(body),
          .context_characters = characters_in(context),
          .whole_characters = characters_in(whole)};
}

}  // namespace

Result<std::vector<Request>> requests_of(const Task& task, const std::string& prompt,
                                         const std::vector<std::string>& choices, const std::vector<Picture>& pictures,
                                         std::uint64_t seed, std::int64_t sample) {
  Json body = begun_request(task, prompt, pictures);
  std::vector<Request> requests;
  if (task.ask == Ask::text) {
    requests.push_back(text_request(task, std::move(body), seed, sample));
  } else if (task.ask == Ask::yes) {
    requests.push_back(first_token_request(task, std::move(body)));
  } else {
    if (choices.empty()) {
      return data_error("an example has no choices to weigh", "in a list 'choices', 'options' or 'endings'");
    }
    if (task.ask == Ask::letters && task.generation.chat) {
      requests.push_back(first_token_request(task, std::move(body)));
      return requests;
    }
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::string letter(1, static_cast<char>('A' + static_cast<char>(i)));
      requests.push_back(weighing_request(task, body, task.ask == Ask::letters ? letter : choices[i]));
    }
  }
  return requests;
}

}  // namespace warpmark::evaluate
