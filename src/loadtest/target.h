// Which server a load is for, with its keys, from what is asked.
#pragma once

#include "base/result.h"
#include "loadtest/surroundings.h"
#include "model/fields/options.h"
#include "serving/client/prepare_load.h"

namespace warpmark::loadtest {

struct TargetRequest {
  std::vector<std::string> bases, headers;
  std::string api_model, model;  ///< the second where the first is empty
  std::string backend = "openai", task = "text-to-text", endpoint;
  std::string azure_deployment, azure_api_version = "2024-02-01", aws_region, gcp_project, gcp_location = "us-central1";
  std::string oci_region, oci_config, oci_profile = "DEFAULT", oci_auth = "user_principal";
  std::string key, key_again, key_file, ca_file;
  std::string parameters;  ///< JSON
  std::string tokenizer;
  bool streams = true;
};

inline constexpr OptionSpec kServerOptions[] = {
    {"--api-base", "URL", "the server, such as http://localhost:8000; several share the load",
     to<&TargetRequest::bases>},
    {"--api-model-name", "NAME", "the model, as the server knows it", to<&TargetRequest::api_model>},
    {"--model", "NAME", "vLLM's name of --api-model-name; with both, genai-bench's label", to<&TargetRequest::model>},
    {"--api-backend", "NAME", "openai, vllm, sglang, tensorrt-llm, anthropic, azure-openai, together, ...",
     to<&TargetRequest::backend>,
     "openai vllm sglang tensorrt-llm anthropic azure-openai together gcp-vertex aws-bedrock oci-openai oci-genai "
     "oci-cohere oci-cohere-v2 cohere"},
    {"--azure-deployment", "NAME", "azure-openai: deployment (default: the model's name)",
     to<&TargetRequest::azure_deployment>},
    {"--azure-api-version", "DATE", "azure-openai: API version", to<&TargetRequest::azure_api_version>},
    {"--aws-region", "NAME", "aws-bedrock: region; keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
     to<&TargetRequest::aws_region>},
    {"--gcp-project-id", "NAME", "gcp-vertex: project; its key is a token (gcloud auth print-access-token)",
     to<&TargetRequest::gcp_project>},
    {"--gcp-location", "NAME", "gcp-vertex: location", to<&TargetRequest::gcp_location>},
    {"--region", "NAME", "oci-openai: region (default: of the profile)", to<&TargetRequest::oci_region>},
    {"--config-file", "FILE", "oci-openai: configuration file (default ~/.oci/config)", to<&TargetRequest::oci_config>},
    {"--oci-profile", "NAME", "oci-openai: profile in that file", to<&TargetRequest::oci_profile>},
    {"--auth", "NAME", "oci-openai: user_principal, security_token", to<&TargetRequest::oci_auth>.chosen(),
     "user_principal security_token"},
    {"--task", "TASK", "text-to-text, image-text-to-text, text-to-embeddings, text-to-rerank",
     to<&TargetRequest::task>.chosen(), "text-to-text image-text-to-text text-to-embeddings text-to-rerank"},
    {"--endpoint", "NAME", "chat (default), completions, responses, messages, ...", to<&TargetRequest::endpoint>,
     "chat completions responses messages vision embeddings rerank"},
    {"--api-key-file", "FILE", "file with the API key (default: the variable MODEL_API_KEY)",
     to<&TargetRequest::key_file>},
    {"--api-key", "WHERE", "where the key is: env:NAME or file:PATH", to<&TargetRequest::key>},
    {"--model-api-key", "WHERE", "the same as --api-key", to<&TargetRequest::key_again>},
    {"--header", "LINE", "header sent with every request, 'Name: value'; secrets as env:NAME or file:PATH",
     to<&TargetRequest::headers>},
    {"--ca-file", "FILE", "CA certificates (PEM) instead of the system's", to<&TargetRequest::ca_file>},
    {"--additional-request-params", "JSON", "keys added to every request body", to<&TargetRequest::parameters>},
};

/// Usage error for keys that stand on the command line themselves; env:NAME and file:PATH name where they are.
[[nodiscard]] Result<serving::Target> target_of(const TargetRequest& request, const Surroundings& around);

}  // namespace warpmark::loadtest
