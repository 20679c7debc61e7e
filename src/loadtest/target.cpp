#include "loadtest/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "http/client.h"
#include "serving/traffic/api.h"

namespace warpmark::loadtest {
namespace {

/// What "env:NAME" and "file:PATH" stand for; nothing for other texts.
Result<std::optional<std::string>> referred(const Surroundings& around, const std::string& text) {
  if (text.starts_with("file:")) {
    const std::string file = text.substr(5);
    WM_ASSIGN(const std::string content, read_file(file, 1 << 20));
    const std::string value(trim(content));
    if (value.empty()) return data_error(file + " is empty", "it must hold the key alone");
    return std::optional(value);
  }
  if (!text.starts_with("env:")) return std::optional<std::string>();
  const char* value = around.environment(text.substr(4).c_str());
  if (value == nullptr || *value == '\0') return usage_error("the variable " + text.substr(4) + " is not set");
  return std::optional(std::string(value));
}

/// A key among the words of a command is seen by everybody on the machine, and stays in the shell's history.
Error visible_secret(const std::string& what) {
  return usage_error(what + " on the command line is seen by everybody on this machine: it is not taken",
                     "name where it is: env:VARIABLE or file:PATH");
}

Result<std::string> api_key_of(const Surroundings& around, const TargetRequest& request) {
  std::string given = request.key.empty() ? request.key_again : request.key;
  if (!request.key_file.empty()) given = "file:" + request.key_file;
  std::string key;
  if (!given.empty()) {
    WM_ASSIGN(const auto value, referred(around, given));
    if (!value) return visible_secret("a key");
    key = *value;
  } else if (const char* value = around.environment("MODEL_API_KEY"); value != nullptr) {
    key = value;
  }
  if (key.find_first_of("\r\n \t") != std::string::npos) return usage_error("the API key holds a space or a line end");
  return key;
}

constexpr const char* kSecretWords[] = {"authorization", "key", "token", "secret", "password", "signature"};

bool holds_secret(std::string_view name) {
  const std::string lower = ascii_lower(name);
  return lower == "cookie" || std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                                          [&](const char* word) { return lower.find(word) != std::string::npos; });
}

Result<http::Header> header_of(const Surroundings& around, const std::string& line) {
  WM_ASSIGN(auto header, http::parse_header(line));
  for (const char* own : {"Content-Length", "Transfer-Encoding", "Connection", "Host", "Content-Type"}) {
    if (http::equal_ignoring_case(header.name, own)) {
      return usage_error(fmt::format("the header {} is written by the client itself", own));
    }
  }
  WM_ASSIGN(const auto value, referred(around, header.value));
  if (value) return http::parse_header(header.name + ": " + *value);
  if (holds_secret(header.name)) return visible_secret("the value of header " + header.name);
  return header;
}

struct Backend {
  const char* name;
  const char* endpoint;  ///< of texts
};
constexpr Backend kBackends[] = {{"openai", "chat"},           {"vllm", "chat"},
                                 {"sglang", "chat"},           {"tensorrt-llm", "chat"},
                                 {"anthropic", "messages"},    {"azure-openai", "azure-chat"},
                                 {"together", "chat"},         {"gcp-vertex", "vertex-chat"},
                                 {"aws-bedrock", "chat"},      {"cohere", "cohere-chat"},
                                 {"oci-openai", "chat"},       {"oci-genai", "oci-generic"},
                                 {"oci-cohere", "oci-cohere"}, {"oci-cohere-v2", "oci-cohere-v2"}};

bool is_of_oci(const std::string& backend) { return backend.starts_with("oci-"); }

Result<const serving::Api*> api_of(const TargetRequest& request) {
  const auto &name = request.backend, &task = request.task;
  const auto* backend = std::find_if(std::begin(kBackends), std::end(kBackends),
                                     [&](const Backend& known) { return name == known.name; });
  if (backend == std::end(kBackends)) {
    std::vector<std::string> names;
    for (const auto& known : kBackends) names.emplace_back(known.name);
    return usage_error("there is no API backend '" + name + "'", "backends: " + join(names, ", "));
  }
  std::string id = request.endpoint.empty() ? backend->endpoint : request.endpoint;
  if (task != "text-to-text" && request.endpoint.empty()) {
    id = (*std::find_if(serving::apis().begin(), serving::apis().end(), [&](const auto* api) {
           return task == api->task;
         }))->id;
  }
  const serving::Api* api = find_in(serving::apis(), id);
  if (api == nullptr)
    return usage_error("there is no endpoint '" + id + "'", "endpoints: " + join(ids_of(serving::apis()), ", "));
  return api;
}

/// Bedrock also takes bearer keys.
bool has_bearer(const Surroundings& around, const TargetRequest& request) {
  return !request.key.empty() || !request.key_again.empty() || !request.key_file.empty() ||
         around.environment("MODEL_API_KEY") != nullptr;
}

std::string aws_region(const Surroundings& around, const TargetRequest& request) {
  if (!request.aws_region.empty()) return request.aws_region;
  const char* region = around.environment("AWS_REGION");
  return region != nullptr ? region : "us-east-1";
}

/// From the variables that AWS's own tools read.
Result<std::shared_ptr<const serving::RequestSigner>> signer_of(const Surroundings& around,
                                                                const TargetRequest& request) {
  const auto variable = [&](const char* name) {
    const char* value = around.environment(name);
    return std::string(value != nullptr ? value : "");
  };
  serving::AwsCredentials credentials{.access_key = variable("AWS_ACCESS_KEY_ID"),
                                      .secret_key = variable("AWS_SECRET_ACCESS_KEY"),
                                      .session_token = variable("AWS_SESSION_TOKEN"),
                                      .region = aws_region(around, request)};
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return usage_error("Bedrock needs credentials", "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  return serving::aws_signer(std::move(credentials));
}

/// From the file that Oracle's own tools read.
Result<serving::OciProfile> oci_profile(const Surroundings& around, const TargetRequest& request) {
  const char *home = around.environment("HOME"), *named = around.environment("OCI_CONFIG_FILE");
  const std::string at_home = std::string(home != nullptr ? home : "") + "/";
  const std::string usual = named != nullptr ? named : at_home + ".oci/config";
  const auto& file = request.oci_config.empty() ? usual : request.oci_config;
  WM_ASSIGN(const std::string config, read_file(file, 1 << 20));
  const bool by_token = request.oci_auth == "security_token";
  WM_ASSIGN(auto profile, serving::parse_oci_profile(config, request.oci_profile, by_token));
  for (auto* path : {&profile.key_file, &profile.security_token_file}) {
    if (path->starts_with("~/")) *path = at_home + path->substr(2);
  }
  return profile;
}

Result<std::shared_ptr<const serving::RequestSigner>> oci_signer_of(const Surroundings& around,
                                                                    const TargetRequest& request) {
  WM_ASSIGN(const auto profile, oci_profile(around, request));
  serving::OciCredentials credentials{.key_id = profile.tenancy + "/" + profile.user + "/" + profile.fingerprint,
                                      .key = {},
                                      .passphrase = profile.passphrase};
  WM_ASSIGN(credentials.key, read_file(profile.key_file, 1 << 20));
  if (request.oci_auth == "security_token") {
    WM_ASSIGN(const std::string token, read_file(profile.security_token_file, 1 << 20));
    credentials.key_id = "ST$" + std::string(trim(token));
  }
  return serving::oci_signer(std::move(credentials));
}

const std::string& model_of(const TargetRequest& request) {
  return request.api_model.empty() ? request.model : request.api_model;
}

/// The addresses, with the paths that the clouds' own APIs have.
Result<std::vector<http::Url>> bases_of(const Surroundings& around, const TargetRequest& request) {
  const auto &backend = request.backend, &location = request.gcp_location;
  auto texts = request.bases;
  if (texts.empty() && backend == "aws-bedrock") {
    const auto& region = request.aws_region.empty() ? "us-east-1" : request.aws_region;
    texts.push_back("https://bedrock-runtime." + region + ".amazonaws.com");
  }
  if (texts.empty() && backend == "cohere") texts.push_back("https://api.cohere.com");
  if (texts.empty() && is_of_oci(backend)) {
    std::string region = request.oci_region;
    if (region.empty()) {
      WM_ASSIGN(const auto profile, oci_profile(around, request));
      region = profile.region;
    }
    if (region.empty()) return usage_error("which region? --region NAME", "or a region in the profile");
    texts.push_back("https://inference.generativeai." + region + ".oci.oraclecloud.com");
  }
  if (texts.empty() && backend == "gcp-vertex") texts.push_back("https://" + location + "-aiplatform.googleapis.com");
  std::vector<http::Url> bases;
  for (const auto& text : texts) {
    WM_ASSIGN(auto url, http::parse_url(text));
    if (url.target == "/" && backend == "azure-openai") {
      const auto& deployment = request.azure_deployment.empty() ? model_of(request) : request.azure_deployment;
      url.target = "/openai/deployments/" + http::percent_encode(deployment) +
                   "?api-version=" + http::percent_encode(request.azure_api_version);
    }
    if (url.target == "/" && backend == "aws-bedrock") url.target = "/openai/v1";
    if (url.target == "/" && is_of_oci(backend)) {
      url.target = backend == "oci-openai" ? "/20231130/actions/v1" : "/20231130/actions";
    }
    if (url.target == "/" && backend == "gcp-vertex") {
      if (request.gcp_project.empty()) return usage_error("Vertex needs --gcp-project-id NAME");
      url.target = "/v1/projects/" + http::percent_encode(request.gcp_project) + "/locations/" +
                   http::percent_encode(location) + "/endpoints/openapi";
    }
    bases.push_back(std::move(url));
  }
  if (bases.empty()) return usage_error("which server? --api-base URL", "such as --api-base http://localhost:8000");
  return bases;
}

/// The names that the server gives its models (GET /v1/models of OpenAI's API), or what to do to learn them.
std::string models_of(http::Url url) {
  constexpr double kDeadline_s = 2;
  constexpr std::size_t kMostNames = 5;
  url.target = serving::path_below(url.target, "/v1/models");
  const auto response = http::request({.url = url}, {.deadline_s = kDeadline_s});
  const auto answer = response.ok() ? parse_json(response->body, "models") : response.error();
  std::vector<std::string> names;
  if (answer.ok() && answer->is_object() && answer->contains("data") && (*answer)["data"].is_array()) {
    for (const auto& model : (*answer)["data"]) {
      if (!model.is_object() || !model.contains("id") || !model["id"].is_string()) continue;
      names.push_back("'" + model["id"].get<std::string>() + "'");
      if (names.size() == kMostNames) break;
    }
  }
  return names.empty() ? "the name that the server knows it by" : "the server has " + join(names, ", ");
}

}  // namespace

Result<serving::Target> target_of(const TargetRequest& request, const Surroundings& around) {
  serving::Target target;
  WM_ASSIGN(target.bases, bases_of(around, request));
  WM_ASSIGN(target.api, api_of(request));
  target.model = model_of(request);
  if (target.model.empty()) return usage_error("which model? --api-model-name NAME", models_of(target.bases.front()));
  if (request.backend == "aws-bedrock" && !has_bearer(around, request)) {
    WM_ASSIGN(target.signer, signer_of(around, request));
  } else if (is_of_oci(request.backend) && !has_bearer(around, request)) {
    WM_ASSIGN(target.signer, oci_signer_of(around, request));
  } else {
    WM_ASSIGN(target.key, api_key_of(around, request));
  }
  for (const auto& line : request.headers) {
    WM_ASSIGN(auto header, header_of(around, line));
    target.headers.push_back(std::move(header));
  }
  if (!request.parameters.empty()) {
    WM_ASSIGN(target.more, parse_json(request.parameters, "--additional-request-params"));
    if (!target.more.is_object()) return usage_error("--additional-request-params must be a JSON object");
    target.more = serving::own_parameters(*target.api, std::move(target.more));
  }
  if (std::string_view(target.api->id).starts_with("oci-") && !target.more.contains("compartmentId")) {
    return usage_error("Oracle's API needs a compartment",
                       R"(--additional-request-params '{"compartmentId": "ocid1.compartment..."}')");
  }
  target.stream = request.streams;
  if (!request.tokenizer.empty()) {
    target.tokenizer_name = request.tokenizer;
    WM_ASSIGN(target.tokenizer, serving::load_tokenizer(target.tokenizer_name));
  }
  const auto& backend = request.backend;
  target.exact_output = backend == "vllm" || backend == "sglang" || backend == "tensorrt-llm";
  const bool secure =
      std::any_of(target.bases.begin(), target.bases.end(), [](const auto& url) { return url.secure(); });
  if (secure) {
    WM_ASSIGN(target.tls, http::TlsContext::for_client(request.ca_file));
  }
  return target;
}

}  // namespace warpmark::loadtest
