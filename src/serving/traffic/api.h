// The APIs that are spoken: a descriptor each, with the path below the server's address and the body of a request.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/catalog.h"
#include "base/json_fwd.h"
#include "base/result.h"
#include "http/message.h"

namespace warpmark::serving {

/// One thing said in a conversation.
struct Message {
  std::string role;  ///< "user", "assistant", "system"
  std::string text;
};

/// What a request is to ask.
struct BodySpec {
  std::string model;
  std::vector<Message> messages;        ///< the last one is the question; of embeddings and rerankers the documents
  std::string query;                    ///< of a reranker
  std::vector<std::string> image_urls;  ///< data: URLs
  std::int64_t output_tokens = 0;       ///< 0: the server decides
  bool stream = true;
  bool exact_output = false;  ///< ignore_eos: exactly that many, where the server knows it
  double temperature = 0;
};

struct Api {
  const char* id;
  const char* task;  ///< genai-bench's name: "text-to-text", ...
  const char* path;  ///< below the address, which may already end with its first part, "/v1"
  bool streams;
  const char* done_mark;  ///< data of the event at the end of a stream; empty if there is none
  Json (*body)(const BodySpec& spec);
  http::Headers (*headers)(const std::string& key);  ///< that authorize; none for an empty key
};

[[nodiscard]] Catalog<Api> apis();

/// What a user sets in every body, where Oracle's own APIs have it: compartmentId beside the request, servingType and
/// endpointId in its servingMode, all else in its chatRequest. As it is for other APIs.
[[nodiscard]] Json own_parameters(const Api& api, Json parameters);

/// "https://host/v1" and "/v1/chat/completions" make "https://host/v1/chat/completions".
[[nodiscard]] std::string path_below(const std::string& base_path, const std::string& api_path);

}  // namespace warpmark::serving
