#include "warpmark/load/peers/peer_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
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
  const std::string text = fmt::format("{} of {} is {}", option.name, option.tool, peer_option_text(option));
  if (option.fate == PeerOption::Fate::refused) {
    return usage_error(text, "leave it out");
  }
  if (option.takes == PeerOption::Takes::value && values.empty()) {
    return usage_error(fmt::format("option '{}' needs a value", option.name), "see --help");
  }
  auto& all = line.given[option.name];
  all.insert(all.end(), values.begin(), values.end());
  if (option.fate == PeerOption::Fate::passed_over) line.own.notes.push_back(text);
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

constexpr double kInputTokens = 1024, kOutputTokens = 128, kCustomOutputTokens = 256;

struct PathOfApi {
  const char* path;
  const char* endpoint;
};
constexpr PathOfApi kPaths[] = {{"/v1/chat/completions", "chat"}, {"/v1/completions", "completions"},
                                {"/v1/responses", "responses"},   {"/v1/embeddings", "embeddings"},
                                {"/v1/rerank", "rerank"},         {"/v1/messages", "messages"}};

Result<double> number_of(const PeerLine& line, const std::string& name, double otherwise) {
  if (!line.has(name)) return otherwise;
  const auto number = parse_number(line.get(name));
  if (!number.ok() || *number < 0) return usage_error(fmt::format("{}: '{}' is no number", name, line.get(name)));
  return number;
}

Status take_server(PeerLine& line) {
  const std::string backend = line.get("--backend", "openai");
  for (const char* other : {"tgi", "deepspeed-mii"}) {
    if (backend == other)
      return usage_error("--backend " + backend + " has no API of OpenAI", "openai, openai-chat, vllm");
  }
  std::string base = line.get("--base-url");
  if (base.empty()) base = "http://" + line.get("--host", "127.0.0.1") + ":" + line.get("--port", "8000");
  const std::string path =
      line.get("--endpoint", backend.ends_with("chat") ? "/v1/chat/completions" : "/v1/completions");
  const auto api = std::find_if(std::begin(kPaths), std::end(kPaths), [&](const PathOfApi& known) {
    return path.ends_with(known.path) || path == known.endpoint;
  });
  if (api == std::end(kPaths))
    return usage_error("--endpoint " + path + " is not known", "/v1/completions, /v1/chat/completions");
  const std::size_t before = path.ends_with(api->path) ? path.size() - std::string_view(api->path).size() : 0;
  while (base.ends_with('/')) base.pop_back();
  line.add("--api-base", base + path.substr(0, before));
  line.add("--endpoint", api->endpoint);
  if (line.has("--served-model-name")) line.add("--api-model-name", line.get("--served-model-name"));
  for (const char* name : {"--header", "--goodput"}) {
    if (!line.has(name)) continue;
    for (std::string value : line.given.at(name)) {
      const auto equals = value.find('=');
      if (std::string_view(name) == "--header" && equals != std::string::npos) value.replace(equals, 1, ": ");
      line.add(name, value);
    }
  }
  return {};
}

Status take_arrivals(PeerLine& line) {
  WM_ASSIGN(const double prompts, number_of(line, "--num-prompts", 1000));
  line.add("--max-requests-per-run", fmt::format("{:.0f}", prompts));
  if (line.has("--ramp-up-strategy")) {
    if (line.get("--ramp-up-strategy") != "linear")
      return usage_error("--ramp-up-strategy: only linear is known", "linear");
    line.add("--request-rate", line.get("--ramp-up-start-rps"));
    line.add("--arrivals", "ramp:" + line.get("--ramp-up-end-rps"));
    return {};
  }
  const std::string rate = line.get("--request-rate", "inf");
  if (rate == "inf") {
    line.add("--num-concurrency", line.get("--max-concurrency", fmt::format("{:.0f}", prompts)));
    return {};
  }
  line.add("--request-rate", rate);
  if (line.has("--max-concurrency")) line.add("--max-in-flight", line.get("--max-concurrency"));
  WM_ASSIGN(const double burstiness, number_of(line, "--burstiness", 1));
  if (burstiness != 1) line.add("--arrivals", fmt::format("gamma:{:g}", burstiness));
  return {};
}

Status take_random(PeerLine& line) {
  WM_ASSIGN(const double general_input, number_of(line, "--input-len", kInputTokens));
  WM_ASSIGN(const double general_output, number_of(line, "--output-len", kOutputTokens));
  WM_ASSIGN(const double input, number_of(line, "--random-input-len", general_input));
  WM_ASSIGN(const double output, number_of(line, "--random-output-len", general_output));
  WM_ASSIGN(const double ratio, number_of(line, "--random-range-ratio", 0));
  WM_ASSIGN(const double prefix, number_of(line, "--random-prefix-len", 0));
  const auto low = [&](double length) { return std::max(1.0, std::floor(length * (1 - ratio))); };
  const auto high = [&](double length) { return std::ceil(length * (1 + ratio)); };
  line.add("--traffic-scenario", ratio == 0 ? fmt::format("D({:.0f},{:.0f})", input + prefix, output)
                                            : fmt::format("U({:.0f},{:.0f})/({:.0f},{:.0f})", prefix + low(input),
                                                          prefix + high(input), low(output), high(output)));
  if (prefix > 0) line.add("--prefix-len", fmt::format("{:.0f}", prefix));
  return {};
}

Status take_dataset(PeerLine& line) {
  const std::string name = line.get("--dataset-name", "random"), path = line.get("--dataset-path");
  if (name == "random") return take_random(line);
  if (name == "sonnet") {
    line.add("--traffic-scenario",
             fmt::format("D({},{})", line.get("--sonnet-input-len", "550"), line.get("--sonnet-output-len", "150")));
    line.add("--prefix-len", line.get("--sonnet-prefix-len", "200"));
    return {};
  }
  if (path.empty()) return usage_error("--dataset-name " + name + " needs a file here", "--dataset-path FILE");
  const bool trace = name == "burstgpt" || name == "timed_trace";
  if (!trace && name != "sharegpt" && name != "custom") {
    return usage_error("--dataset-name " + name + " is not known here", "random, sonnet, sharegpt, custom, burstgpt");
  }
  line.add(trace ? "--trace" : "--dataset-path", path);
  // vLLM's own default for files of its "custom" format; -1 leaves each row its length (vllm/benchmarks/datasets).
  const std::string own_length = "--" + name + "-output-len";
  if (line.get(own_length) == "-1") return {};
  WM_ASSIGN(const double general, number_of(line, "--output-len", name == "custom" ? kCustomOutputTokens : 0));
  WM_ASSIGN(const double output, number_of(line, own_length, general));
  if (output > 0) line.parameters["max_tokens"] = std::llround(output);
  return {};
}

/// "openai-infqps-concurrency8-model-20261127-203500.json".
std::string own_file_name(const PeerLine& line) {
  std::string model = line.get("--served-model-name", "model"), stamp;
  for (std::size_t i = 0; i + 1 < line.own.words.size(); ++i) {
    if (line.own.words[i] == "--model") model = line.own.words[i + 1];
  }
  model = model.substr(model.rfind('/') == std::string::npos ? 0 : model.rfind('/') + 1);
  for (const char c : format_utc(wall_clock_s()).substr(0, 19)) {
    if (is_digit(c)) stamp += c;
    if (c == 'T') stamp += '-';
  }
  const std::string users = line.has("--max-concurrency") ? "-concurrency" + line.get("--max-concurrency") : "";
  return fmt::format("{}-{}qps{}-{}-{}.json", line.get("--label", line.get("--backend", "openai")),
                     line.get("--request-rate", "inf"), users, model, stamp);
}

Status take_result(PeerLine& line) {
  if (!line.has("--save-result") && !line.has("--append-result")) return {};
  const std::filesystem::path folder = line.get("--result-dir");
  std::error_code failure;
  if (!folder.empty()) std::filesystem::create_directories(folder, failure);
  if (failure) return environment_error("cannot make the folder " + folder.string() + ": " + failure.message());
  line.add("--vllm-json", (folder / line.get("--result-filename", own_file_name(line))).string());
  return {};
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

Result<OwnWords> words_of_vllm(PeerLine line) {
  WM_TRY(take_server(line));
  WM_TRY(take_arrivals(line));
  WM_TRY(take_dataset(line));
  WM_TRY(take_result(line));
  if (line.has("--extra-body")) {
    WM_ASSIGN(const Json more, parse_json(line.get("--extra-body"), "--extra-body"));
    for (const auto& [key, value] : more.items()) line.parameters[key] = value;
  }
  if (!line.parameters.empty()) line.add("--additional-request-params", dump_json(line.parameters, -1));
  return std::move(line.own);
}

}  // namespace warpmark::apps
