// `vllm bench serve` in the words of `warpmark load run`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "warpmark/load/peers/peer_line.h"

namespace warpmark::apps {
namespace {

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
