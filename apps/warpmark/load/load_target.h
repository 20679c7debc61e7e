// Which server a load is for, with its keys, from what is asked.
#pragma once

#include "base/result.h"
#include "serving/client/prepare_load.h"
#include "warpmark/command.h"

namespace warpmark::apps {

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

/// Usage error for keys that stand on the command line themselves; env:NAME and file:PATH name where they are.
[[nodiscard]] Result<serving::Target> load_target_of(const Context& context, const TargetRequest& request);

}  // namespace warpmark::apps
