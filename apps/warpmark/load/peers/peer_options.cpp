#include "warpmark/load/peers/peer_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "warpmark/load/peers/peer_line.h"

namespace warpmark::apps {
namespace {

using enum PeerOption::Takes;
using enum PeerOption::Fate;

constexpr const char* kGenai = "genai-bench";
constexpr const char* kVllm = "vLLM";
constexpr const char* kNoUpload = "results stay on this machine";
constexpr const char* kSecret = "everybody on the machine sees it; the variables of the cloud's own tools are read";

constexpr PeerOption kPeerOptions[] = {
    {kGenai, "--model-tokenizer", value, "--tokenizer", "",
     "a file, or a folder with tokenizer.json; else the server's counts"},
    {kGenai, "--num-workers", value, "--threads", "", "threads of the client"},
    {kGenai, "--azure-endpoint", value, "--api-base", "", ""},
    {kGenai, "--dataset-config", value, "--dataset-path", "", "its source of type file, and its prompt_column"},
    {kGenai, "--iteration-type", value, "", "", "--num-concurrency and --batch-size are both swept", passed_over},
    {kGenai, "--metrics-time-unit", value, "", "", "files hold seconds; load excel and load plot take it", passed_over},
    {kGenai, "--metrics-refresh-interval", value, "", "", "the display has its own pace", passed_over},
    {kGenai, "--master-port", value, "", "", "the client is one process; --clients N starts several", passed_over},
    {kGenai, "--log-dir", value, "", "", "there are no log files", passed_over},
    {kGenai, "--model-auth-type", value, "", "", "the backend decides", passed_over},
    {kGenai, "--dataset-image-column", value, "", "", "pictures are drawn by the scenario", passed_over},
    {kGenai, "--upload-results", flag, "", "", kNoUpload, passed_over},
    {kGenai, "--namespace", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-provider", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-bucket", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-prefix", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-auth-type", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-aws-region", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-aws-profile", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-azure-account-name", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-gcp-project-id", value, "", "", kNoUpload, passed_over},
    {kGenai, "--storage-gcp-credentials-path", value, "", "", kNoUpload, passed_over},
    {kGenai, "--github-owner", value, "", "", kNoUpload, passed_over},
    {kGenai, "--github-repo", value, "", "", kNoUpload, passed_over},
    {kGenai, "--aws-access-key-id", value, "", "", kSecret, refused},
    {kGenai, "--aws-secret-access-key", value, "", "", kSecret, refused},
    {kGenai, "--aws-session-token", value, "", "", kSecret, refused},
    {kGenai, "--azure-ad-token", value, "", "", kSecret, refused},
    {kGenai, "--security-token", value, "", "", kSecret, refused},
    {kGenai, "--storage-aws-access-key-id", value, "", "", kSecret, refused},
    {kGenai, "--storage-aws-secret-access-key", value, "", "", kSecret, refused},
    {kGenai, "--storage-aws-session-token", value, "", "", kSecret, refused},
    {kGenai, "--storage-azure-account-key", value, "", "", kSecret, refused},
    {kGenai, "--storage-azure-connection-string", value, "", "", kSecret, refused},
    {kGenai, "--storage-azure-sas-token", value, "", "", kSecret, refused},
    {kGenai, "--github-token", value, "", "", kSecret, refused},
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
    {kVllm, "--save-detailed", flag, "", "", "the lists of requests are always in the file", passed_over},
    {kVllm, "--append-result", flag, "", "", "a file holds one result", passed_over},
    {kVllm, "--metadata", values, "", "", "--server-engine and the like label results", passed_over},
    {kVllm, "--percentile-metrics", value, "", "", "all metrics are shown", passed_over},
    {kVllm, "--metric-percentiles", value, "", "", "p25, p50, p75, p90, p95, p99 and p99.9 are computed", passed_over},
    {kVllm, "--num-warmups", value, "", "", "the beginning is left out as far as it differs", passed_over},
    {kVllm, "--ready-check-timeout-sec", value, "", "", "the server is asked once before the load", passed_over},
    {kVllm, "--disable-tqdm", flag, "", "", "there is no bar without a terminal", passed_over},
    {kVllm, "--trust-remote-code", flag, "", "", "nothing is loaded", passed_over},
    {kVllm, "--tokenizer-mode", value, "", "", "", passed_over},
    {kVllm, "--skip-tokenizer-init", flag, "", "", "", passed_over},
    {kVllm, "--request-id-prefix", value, "", "", "", passed_over},
    {kVllm, "--profile", flag, "", "", "the server is not profiled", passed_over},
    {kVllm, "--plot-timeline", flag, "", "", "load plot draws results", passed_over},
    {kVllm, "--lora-modules", values, "", "", "one model at a time", refused},
    {kVllm, "--use-beam-search", flag, "", "", "", refused},
    {kVllm, "--insecure", flag, "", "", "--ca-file names a certificate to trust", refused},
};

}  // namespace

std::span<const PeerOption> peer_options() { return kPeerOptions; }

Result<OwnWords> own_words(std::span<const std::string> words) {
  if (words.empty() || words.front() != "run") return OwnWords{{words.begin(), words.end()}, {}};
  WM_ASSIGN(auto line, peer_line_of(words));
  return line.is_vllm ? words_of_vllm(std::move(line)) : words_of_genai(std::move(line));
}

std::string peer_option_text(const PeerOption& option) {
  if (option.fate == PeerOption::Fate::taken) return option.use;
  const std::string fate = option.fate == PeerOption::Fate::refused ? "refused" : "passed over";
  return *option.use == '\0' ? fate : fate + ": " + option.use;
}

std::string peer_options_table() {
  std::string text = "| tool | option | here | |\n| --- | --- | --- | --- |\n";
  for (const auto& option : kPeerOptions) {
    const std::string own = std::string_view(option.own).empty() ? "" : fmt::format("`{}`", option.own);
    text += fmt::format("| {} | `{}` | {} | {} |\n", option.tool, option.name, own, peer_option_text(option));
  }
  return text;
}

}  // namespace warpmark::apps
