#include "evaluate/items.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "accuracy/choice/choice.h"
#include "accuracy/text/unicode.h"
#include "base/sha256.h"
#include "base/text.h"
#include "stats/random.h"

namespace warpmark::evaluate {
namespace {

struct Request {
  Api api = Api::chat;
  Json body;  ///< without the model's name
  /// Of a text that is weighed: where it begins and ends in the prompt, in characters.
  std::int64_t context_characters = 0;
  std::int64_t whole_characters = 0;
};

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

/// `seed` and `sample` decide the request's own seed where the temperature asks for one. Data error for a task of
/// choices whose example has none.
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

using accuracy::Record;

std::string lettered(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    text += fmt::format("{}{}. {}", i == 0 ? "" : "\n", static_cast<char>('A' + static_cast<char>(i)), choices[i]);
  }
  return text;
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return result;
}

/// What a variant changes: the texts of the question, never the choices' letters or the reference.
Record varied(const Record& record, const std::string& variant, std::uint64_t seed, std::vector<std::size_t>& order) {
  Record result = record;
  if (variant == "choice_order") {
    auto choices = choices_of(record);
    order.resize(choices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    stats::Random random(seed);
    std::shuffle(order.begin(), order.end(), random);
    Json shuffled = Json::array();
    for (const auto i : order) shuffled.push_back(choices[i]);
    for (const char* name : {"choices", "options", "endings"}) {
      if (result.fields.is_object() && result.fields.contains(name)) result.fields[name] = shuffled;
    }
    return result;
  }
  if (!result.fields.is_object()) return result;
  constexpr const char* kQuestions[] = {"question",   "context", "sentence", "sentence1", "sentence2", "premise",
                                        "hypothesis", "passage", "prompt",   "text",      "input"};
  for (const char* name : kQuestions) {
    if (!result.fields.contains(name) || !result.fields[name].is_string()) continue;
    const auto text = result.fields[name].get<std::string>();
    if (variant == "typos") result.fields[name] = with_typos(text, seed);
    if (variant == "upper_case") result.fields[name] = upper_case(text);
    if (variant == "lower_case") result.fields[name] = accuracy::lower_case(text);
  }
  return result;
}

Result<std::string> shots_text(const Task& task, const std::vector<Record>& shots) {
  std::string text;
  for (std::size_t i = 0; i < std::min(shots.size(), static_cast<std::size_t>(task.shots)); ++i) {
    WM_ASSIGN(const auto question, filled_template(task.prompt, shots[i]));
    WM_ASSIGN(const auto answer, filled_template(task.answer, shots[i]));
    text += question + " " + answer + "\n\n";
  }
  return text;
}

Result<std::vector<Picture>> shown_by(const Task& task, const Record& record, const Pictures& pictures) {
  std::vector<Picture> shown;
  for (const auto& pattern : task.images) {
    WM_ASSIGN(const auto name, filled_template(pattern, record));
    const auto found = pictures.find(name);
    if (found == pictures.end()) return data_error("the model was not shown the picture " + name);
    shown.push_back(found->second);
  }
  return shown;
}

std::string code_of(const std::string& answer) {
  const auto fence = answer.find("```");
  if (fence == std::string::npos) return answer;
  const auto line = answer.find('\n', fence);
  if (line == std::string::npos) return "";
  const auto end = answer.find("```", line);
  return answer.substr(line + 1, end == std::string::npos ? end : end - line - 1);
}

}  // namespace

const std::vector<std::string>& variant_names() {
  static const std::vector<std::string> names{"typos", "upper_case", "lower_case", "choice_order"};
  return names;
}

std::vector<std::string> choices_of(const Record& record) {
  std::vector<std::string> texts;
  if (!record.fields.is_object()) return texts;
  for (const char* name : {"choices", "options", "endings"}) {
    if (!record.fields.contains(name)) continue;
    const Json* list = &record.fields[name];
    if (list->is_object() && list->contains("text")) list = &(*list)["text"];
    if (!list->is_array()) continue;
    for (const auto& item : *list) texts.push_back(accuracy::field_text(item));
    break;
  }
  return texts;
}

Result<std::string> filled_template(std::string_view text, const Record& record) {
  std::string filled;
  for (;;) {
    const auto open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const auto close = text.find("}}", open);
    if (close == std::string_view::npos) return data_error("the template has '{{' without '}}'");
    const std::string name(trim(text.substr(open + 2, close - open - 2)));
    text.remove_prefix(close + 2);
    if (name == "reference") {
      filled += record.text;
    } else if (name == "choices") {
      filled += lettered(choices_of(record));
    } else if (record.fields.is_object() && record.fields.contains(name)) {
      filled += accuracy::field_text(record.fields[name]);
    } else {
      return data_error(fmt::format("the template names '{}', which example '{}' does not have", name, record.id),
                        "its fields are those of the data file, and 'reference', 'choices'");
    }
  }
}

std::string with_typos(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t kOneWordIn = 10;
  constexpr std::size_t kShortest = 4;
  stats::Random random(seed);
  std::string result(text);
  std::size_t begin = 0;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t i = 0; i <= result.size(); ++i) {
    if (i < result.size() && is_letter(result[i])) continue;
    const std::size_t length = i - begin;
    if (length >= kShortest && random() % kOneWordIn == 0) {
      const std::size_t at = begin + 1 + random() % (length - 2);
      switch (random() % 4) {
        case 0: std::swap(result[at], result[at + 1]); break;
        case 1: result[at] = static_cast<char>('a' + random() % 26); break;
        case 2:
          result.erase(at, 1);
          --i;
          break;
        default:
          result.insert(at, 1, result[at]);
          ++i;
          break;
      }
    }
    begin = i + 1;
  }
  return result;
}

Result<std::vector<Item>> items_of(const Task& task, const std::vector<Record>& data, const std::vector<Record>& shots,
                                   const std::string& model, std::uint64_t seed, const Pictures& pictures) {
  std::vector<Item> items;
  WM_ASSIGN(const auto before, shots_text(task, shots));
  std::vector<std::string> variants{""};
  variants.insert(variants.end(), task.variants.begin(), task.variants.end());
  for (std::size_t v = 0; v < variants.size(); ++v) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      std::vector<std::size_t> order;
      const Record record = varied(data[i], variants[v], stats::derive_seed(seed, i), order);
      WM_ASSIGN(const auto prompt, filled_template(task.prompt, record));
      WM_ASSIGN(const auto shown, shown_by(task, data[i], pictures));
      for (std::int64_t sample = 0; sample < task.generation.samples; ++sample) {
        WM_ASSIGN(auto requests,
                  requests_of(task, before + prompt, choices_of(record), shown, stats::derive_seed(seed, i), sample));
        for (std::size_t part = 0; part < requests.size(); ++part) {
          auto& request = requests[part];
          Item item{.example = i, .variant = variants[v], .sample = sample, .part = part, .api = request.api};
          item.hash = sha256_hex(fmt::format("{}\n{}\n{}", dump_json(request.body, -1), model, sample));
          item.request = std::move(request.body);
          item.pictures = shown;
          item.choice_order = order;
          item.context_characters = request.context_characters;
          item.whole_characters = request.whole_characters;
          items.push_back(std::move(item));
        }
      }
    }
  }
  return items;
}

std::string extracted(const Task& task, const std::string& answer, std::size_t choices,
                      const std::vector<std::size_t>& choice_order) {
  const std::string whole(accuracy::stripped(answer));
  switch (task.extraction) {
    case Extraction::all: return whole;
    case Extraction::code: return code_of(answer);
    case Extraction::first_line: return whole.substr(0, whole.find('\n'));
    case Extraction::after: {
      const auto at = answer.rfind(task.pattern);
      return at == std::string::npos ? "" : std::string(accuracy::stripped(answer.substr(at + task.pattern.size())));
    }
    case Extraction::regex: {
      const RE2 pattern(task.pattern, RE2::Quiet);
      re2::StringPiece rest(answer);
      std::string found, last;
      const bool has_group = pattern.NumberOfCapturingGroups() > 0;
      const std::string with_group = has_group ? task.pattern : "(" + task.pattern + ")";
      const RE2 grouped(with_group, RE2::Quiet);
      while (RE2::FindAndConsume(&rest, grouped, &found)) {
        last = found;
        if (rest.empty()) break;
        if (found.empty()) rest.remove_prefix(1);  // an empty match must not be found for ever
      }
      return last;
    }
    case Extraction::letter: {
      constexpr std::size_t kAnyLetter = 26;
      const auto letter = accuracy::choice_letter(answer, choices == 0 ? kAnyLetter : choices);
      if (!letter) return "";
      const std::size_t original = *letter < choice_order.size() ? choice_order[*letter] : *letter;
      return std::string(1, static_cast<char>('A' + static_cast<char>(original)));
    }
  }
  return whole;
}

std::string program_of(const Record& record, const std::string& completion) {
  const auto field = [&](const char* name) {
    return record.fields.is_object() && record.fields.contains(name) ? accuracy::field_text(record.fields[name]) : "";
  };
  // A chat model repeats the function's head, a completion goes on after it.
  const bool whole = completion.find("def " + field("entry_point")) != std::string::npos;
  return (whole ? "" : field("prompt")) + completion + "\n" + field("test") + "\n" + "check(" + field("entry_point") +
         ")\n";
}

}  // namespace warpmark::evaluate
