#include "warpmark/load/peers/peer_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "warpmark/load/peers/peer_line.h"

namespace warpmark::apps {
namespace {

using enum PeerOption::Takes;

constexpr const char* kGenai = "genai-bench";
constexpr const char* kVllm = "vLLM";
constexpr const char* kNoUpload = "passed over: results stay on this machine";
constexpr const char* kSecret =
    "refused: everybody on the machine sees it; the variables of the cloud's own tools are read";

constexpr PeerOption kPeerOptions[] = {
    {kGenai, "--model-tokenizer", value, "--tokenizer", "",
     "a file, or a folder with tokenizer.json; else the server's counts"},
    {kGenai, "--num-workers", value, "--threads", "", "threads of the client"},
    {kGenai, "--azure-endpoint", value, "--api-base", "", ""},
    {kGenai, "--dataset-config", value, "--dataset-path", "", "its source of type file, and its prompt_column"},
    {kGenai, "--iteration-type", value, "", "", "passed over: --num-concurrency and --batch-size are both swept"},
    {kGenai, "--metrics-time-unit", value, "", "", "passed over: files hold seconds; load excel and load plot take it"},
    {kGenai, "--metrics-refresh-interval", value, "", "", "passed over: the display has its own pace"},
    {kGenai, "--master-port", value, "", "", "passed over: the client is one process; --clients N starts several"},
    {kGenai, "--log-dir", value, "", "", "passed over: there are no log files"},
    {kGenai, "--model-auth-type", value, "", "", "passed over: the backend decides"},
    {kGenai, "--dataset-image-column", value, "", "", "passed over: pictures are drawn by the scenario"},
    {kGenai, "--upload-results", flag, "", "", kNoUpload},
    {kGenai, "--namespace", value, "", "", kNoUpload},
    {kGenai, "--storage-provider", value, "", "", kNoUpload},
    {kGenai, "--storage-bucket", value, "", "", kNoUpload},
    {kGenai, "--storage-prefix", value, "", "", kNoUpload},
    {kGenai, "--storage-auth-type", value, "", "", kNoUpload},
    {kGenai, "--storage-aws-region", value, "", "", kNoUpload},
    {kGenai, "--storage-aws-profile", value, "", "", kNoUpload},
    {kGenai, "--storage-azure-account-name", value, "", "", kNoUpload},
    {kGenai, "--storage-gcp-project-id", value, "", "", kNoUpload},
    {kGenai, "--storage-gcp-credentials-path", value, "", "", kNoUpload},
    {kGenai, "--github-owner", value, "", "", kNoUpload},
    {kGenai, "--github-repo", value, "", "", kNoUpload},
    {kGenai, "--aws-access-key-id", value, "", "", kSecret},
    {kGenai, "--aws-secret-access-key", value, "", "", kSecret},
    {kGenai, "--aws-session-token", value, "", "", kSecret},
    {kGenai, "--azure-ad-token", value, "", "", kSecret},
    {kGenai, "--security-token", value, "", "", kSecret},
    {kGenai, "--storage-aws-access-key-id", value, "", "", kSecret},
    {kGenai, "--storage-aws-secret-access-key", value, "", "", kSecret},
    {kGenai, "--storage-aws-session-token", value, "", "", kSecret},
    {kGenai, "--storage-azure-account-key", value, "", "", kSecret},
    {kGenai, "--storage-azure-connection-string", value, "", "", kSecret},
    {kGenai, "--storage-azure-sas-token", value, "", "", kSecret},
    {kGenai, "--github-token", value, "", "", kSecret},
    {kVllm, "--base-url", value, "--api-base", "", ""},
    {kVllm, "--host", value, "--api-base", "", "with --port; 127.0.0.1:8000 where neither is given"},
    {kVllm, "--port", value, "--api-base", "", ""},
    {kVllm, "--backend", value, "--endpoint", "", "chat for openai-chat, else completions"},
    {kVllm, "--endpoint", value, "--endpoint", "", "by its path; what is before /v1 goes to --api-base"},
    {kVllm, "--served-model-name", value, "--api-model-name", "", ""},
    {kVllm, "--tokenizer", value, "--tokenizer", "",
     "a file, or a folder with tokenizer.json; else the server's counts"},
    {kVllm, "--num-prompts", value, "--max-requests-per-run", "", "1000 where it is not given"},
    {kVllm, "--max-concurrency", value, "--num-concurrency", "", "with a finite --request-rate --max-in-flight"},
    {kVllm, "--request-rate", value, "--request-rate", "", "inf: as many users as --max-concurrency or --num-prompts"},
    {kVllm, "--burstiness", value, "--arrivals", "", "gamma:B"},
    {kVllm, "--ramp-up-strategy", value, "--arrivals", "", "linear: ramp"},
    {kVllm, "--ramp-up-start-rps", value, "--request-rate", "", ""},
    {kVllm, "--ramp-up-end-rps", value, "--arrivals", "", "ramp:RATE"},
    {kVllm, "--dataset-name", value, "--traffic-scenario", "",
     "random, sonnet; sharegpt, custom: --dataset-path; burstgpt: --trace"},
    {kVllm, "--dataset-path", value, "--dataset-path", "", ""},
    {kVllm, "--input-len", value, "--traffic-scenario", "", ""},
    {kVllm, "--output-len", value, "--traffic-scenario", "", "of a data set max_tokens in the request"},
    {kVllm, "--random-input-len", value, "--traffic-scenario", "", "1024 where it is not given"},
    {kVllm, "--random-output-len", value, "--traffic-scenario", "", "128 where it is not given"},
    {kVllm, "--random-range-ratio", value, "--traffic-scenario", "", "U(..)/(..)"},
    {kVllm, "--random-prefix-len", value, "--prefix-len", "", "added to the length of the prompt"},
    {kVllm, "--sonnet-input-len", value, "--traffic-scenario", "", ""},
    {kVllm, "--sonnet-output-len", value, "--traffic-scenario", "", ""},
    {kVllm, "--sonnet-prefix-len", value, "--prefix-len", "", ""},
    {kVllm, "--sharegpt-output-len", value, "", "", "max_tokens in the request"},
    {kVllm, "--custom-output-len", value, "", "", "max_tokens in the request (256); -1: as the rows say"},
    {kVllm, "--goodput", values, "--goodput", "", "in milliseconds"},
    {kVllm, "--header", values, "--header", "", "KEY=VALUE becomes KEY: VALUE"},
    {kVllm, "--ignore-eos", flag, "", "ignore_eos", "ignore_eos in the request"},
    {kVllm, "--temperature", value, "", "temperature", "in the request"},
    {kVllm, "--top-p", value, "", "top_p", "in the request"},
    {kVllm, "--top-k", value, "", "top_k", "in the request"},
    {kVllm, "--min-p", value, "", "min_p", "in the request"},
    {kVllm, "--frequency-penalty", value, "", "frequency_penalty", "in the request"},
    {kVllm, "--presence-penalty", value, "", "presence_penalty", "in the request"},
    {kVllm, "--repetition-penalty", value, "", "repetition_penalty", "in the request"},
    {kVllm, "--logprobs", value, "", "logprobs", "in the request"},
    {kVllm, "--extra-body", value, "--additional-request-params", "", ""},
    {kVllm, "--save-result", flag, "--vllm-json", "", "in --result-dir, under --result-filename or vLLM's own name"},
    {kVllm, "--result-dir", value, "--vllm-json", "", "made where it is missing"},
    {kVllm, "--result-filename", value, "--vllm-json", "", ""},
    {kVllm, "--label", value, "--vllm-json", "", "the beginning of vLLM's own name"},
    {kVllm, "--save-detailed", flag, "", "", "passed over: the lists of requests are always in the file"},
    {kVllm, "--append-result", flag, "", "", "passed over: a file holds one result"},
    {kVllm, "--metadata", values, "", "", "passed over: --server-engine and the like label results"},
    {kVllm, "--percentile-metrics", value, "", "", "passed over: all metrics are shown"},
    {kVllm, "--metric-percentiles", value, "", "", "passed over: p25, p50, p75, p90, p95, p99 and p99.9 are computed"},
    {kVllm, "--num-warmups", value, "", "", "passed over: the beginning is left out as far as it differs"},
    {kVllm, "--ready-check-timeout-sec", value, "", "", "passed over: the server is asked once before the load"},
    {kVllm, "--disable-tqdm", flag, "", "", "passed over: there is no bar without a terminal"},
    {kVllm, "--trust-remote-code", flag, "", "", "passed over: nothing is loaded"},
    {kVllm, "--tokenizer-mode", value, "", "", "passed over"},
    {kVllm, "--skip-tokenizer-init", flag, "", "", "passed over"},
    {kVllm, "--request-id-prefix", value, "", "", "passed over"},
    {kVllm, "--profile", flag, "", "", "passed over: the server is not profiled"},
    {kVllm, "--plot-timeline", flag, "", "", "passed over: load plot draws results"},
    {kVllm, "--lora-modules", values, "", "", "refused: one model at a time"},
    {kVllm, "--use-beam-search", flag, "", "", "refused"},
    {kVllm, "--insecure", flag, "", "", "refused: --ca-file names a certificate to trust"},
};

}  // namespace

std::span<const PeerOption> peer_options() { return kPeerOptions; }

Result<OwnWords> own_words(std::span<const std::string> words) {
  if (words.empty() || words.front() != "run") return OwnWords{{words.begin(), words.end()}, {}};
  WM_ASSIGN(auto line, peer_line_of(words));
  return line.is_vllm ? words_of_vllm(std::move(line)) : words_of_genai(std::move(line));
}

std::string peer_options_table() {
  std::string text = "| tool | option | here | |\n| --- | --- | --- | --- |\n";
  for (const auto& option : kPeerOptions) {
    const std::string own = std::string_view(option.own).empty() ? "" : fmt::format("`{}`", option.own);
    text += fmt::format("| {} | `{}` | {} | {} |\n", option.tool, option.name, own, option.use);
  }
  return text;
}

}  // namespace warpmark::apps
