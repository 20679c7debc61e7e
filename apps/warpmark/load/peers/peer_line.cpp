#include "warpmark/load/peers/peer_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

/// Options of vLLM that nobody else has, by which its command lines are known.
constexpr const char* kOnlyVllm[] = {"--num-prompts",       "--dataset-name", "--base-url",
                                     "--max-concurrency",   "--backend",      "--random-input-len",
                                     "--random-output-len", "--save-result",  "--percentile-metrics",
                                     "--served-model-name", "--ignore-eos",   "--metric-percentiles"};

std::string name_in(const std::string& word) { return word.substr(0, word.find('=')); }

bool is_of_vllm(std::span<const std::string> words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return std::any_of(std::begin(kOnlyVllm), std::end(kOnlyVllm),
                       [&](const char* name) { return name_in(word) == name; });
  });
}

const PeerOption* option_of(const std::string& name, bool is_vllm) {
  for (const auto& option : peer_options()) {
    const bool of_vllm = std::string_view(option.tool) == "vLLM";
    if (name == option.name && of_vllm == is_vllm) return &option;
  }
  return nullptr;
}

/// From "--name=value", or the words behind it, which are passed over then.
std::vector<std::string> values_at(std::span<const std::string> words, std::size_t& at, PeerOption::Takes takes) {
  const std::string& word = words[at];
  if (const auto equals = word.find('='); equals != std::string::npos) return {word.substr(equals + 1)};
  std::vector<std::string> values;
  const std::size_t most = takes == PeerOption::Takes::flag ? 0 : takes == PeerOption::Takes::value ? 1 : words.size();
  while (values.size() < most && at + 1 < words.size() && !words[at + 1].starts_with("--")) {
    values.push_back(words[++at]);
  }
  return values;
}

Json value_of(const std::string& text) {
  const auto number = parse_number(text);
  if (!number.ok()) return text;
  const auto whole = parse_integer(text);
  return whole.ok() ? Json(*whole) : Json(*number);
}

Status take(const PeerOption& option, const std::vector<std::string>& values, PeerLine& line) {
  const std::string_view use(option.use);
  if (use.starts_with("refused")) {
    return usage_error(fmt::format("{} of {} is {}", option.name, option.tool, use), "leave it out");
  }
  if (option.takes == PeerOption::Takes::value && values.empty()) {
    return usage_error(fmt::format("option '{}' needs a value", option.name), "see --help");
  }
  auto& all = line.given[option.name];
  all.insert(all.end(), values.begin(), values.end());
  if (use.starts_with("passed over"))
    line.own.notes.push_back(fmt::format("{} of {} is {}", option.name, option.tool, use));
  if (!std::string_view(option.parameter).empty()) {
    line.parameters[option.parameter] = values.empty() ? Json(true) : value_of(values.back());
  }
  return {};
}

/// The file of a tokenizer that is here; a name on a model hub is not.
std::string tokenizer_file(const std::string& name) {
  std::error_code none;
  for (const char* inside : {"tokenizer.json", "tokenizer.model"}) {
    if (fs::is_regular_file(fs::path(name) / inside, none)) return (fs::path(name) / inside).string();
  }
  return fs::is_regular_file(name, none) ? name : "";
}

}  // namespace

std::string PeerLine::get(const std::string& name, const std::string& otherwise) const {
  const auto found = given.find(name);
  return found == given.end() || found->second.empty() ? otherwise : found->second.back();
}

void PeerLine::add(const std::string& option, const std::string& value) {
  own.words.push_back(option);
  own.words.push_back(value);
}

Result<PeerLine> peer_line_of(std::span<const std::string> words) {
  PeerLine line{.is_vllm = is_of_vllm(words)};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const PeerOption* option = words[i].starts_with("--") ? option_of(name_in(words[i]), line.is_vllm) : nullptr;
    if (option == nullptr) {
      line.own.words.push_back(words[i]);
    } else {
      WM_TRY(take(*option, values_at(words, i, option->takes), line));
    }
  }
  const std::string tokenizer = line.get(line.is_vllm ? "--tokenizer" : "--model-tokenizer");
  if (tokenizer.empty()) return line;
  if (const std::string file = tokenizer_file(tokenizer); !file.empty()) {
    line.add("--tokenizer", file);
  } else {
    line.own.notes.push_back("the tokenizer " + tokenizer + " is no file here: tokens are counted by the server");
  }
  return line;
}

Result<OwnWords> words_of_genai(PeerLine line) {
  if (const auto threads = parse_integer(line.get("--num-workers", "0")); threads.ok() && *threads > 1) {
    line.add("--threads", std::to_string(*threads));
  }
  if (line.has("--azure-endpoint")) line.add("--api-base", line.get("--azure-endpoint"));
  if (!line.has("--dataset-config")) return std::move(line.own);
  const std::string file = line.get("--dataset-config");
  WM_ASSIGN(const std::string text, read_file(file, 1 << 20));
  WM_ASSIGN(const Json json, parse_json(text, file));
  const Json source = json.is_object() ? json.value("source", Json()) : Json();
  const Json path = source.is_object() ? source.value("path", Json()) : Json();
  if (!path.is_string() || source.value("type", Json()) != "file") {
    return usage_error(file + ": only a source of type file can be read here",
                       R"({"source": {"type": "file", "path": "..."}})");
  }
  line.add("--dataset-path", path.get<std::string>());
  if (json.contains("prompt_column") && json["prompt_column"].is_string()) {
    line.add("--dataset-prompt-column", json["prompt_column"].get<std::string>());
  }
  return std::move(line.own);
}

}  // namespace warpmark::apps
