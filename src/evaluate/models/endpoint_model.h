// An OpenAI-compatible server that answers.
#pragma once

#include <memory>
#include <string>

#include "evaluate/models/model.h"
#include "http/url.h"

namespace warpmark::evaluate {

struct EndpointOptions {
  http::Url url;        ///< up to the version: http://host:8000/v1
  std::string model;    ///< named in each request; empty: not named
  std::string api_key;  ///< sent as a bearer token; empty: none
};

/// One connection, kept as long as the server does. 408, 409, 425, 429 and 5xx, lost connections and deadlines may
/// pass; Retry-After is heeded.
[[nodiscard]] std::unique_ptr<Model> endpoint_model(EndpointOptions options);

}  // namespace warpmark::evaluate
