#include "serving/traffic/api.h"

#include "base/json.h"

namespace warpmark::serving {
namespace {

Json content_of(const Message& message, const std::vector<std::string>& image_urls, bool last) {
  if (!last || image_urls.empty()) return message.text;
  Json parts = Json::array();
  parts.push_back({{"type", "text"}, {"text", message.text}});
  for (const auto& url : image_urls) parts.push_back({{"type", "image_url"}, {"image_url", {{"url", url}}}});
  return parts;
}

Json messages_of(const BodySpec& spec) {
  Json messages = Json::array();
  for (const auto& message : spec.messages) {
    const bool last = &message == &spec.messages.back();
    messages.push_back({{"role", message.role}, {"content", content_of(message, spec.image_urls, last)}});
  }
  return messages;
}

std::string prompt_of(const BodySpec& spec) {
  std::string prompt;
  for (const auto& message : spec.messages) prompt += (prompt.empty() ? "" : "\n") + message.text;
  return prompt;
}

Json documents_of(const BodySpec& spec) {
  Json documents = Json::array();
  for (const auto& message : spec.messages) documents.push_back(message.text);
  return documents;
}

void add_generation(Json& body, const BodySpec& spec, const char* limit_key) {
  if (spec.output_tokens > 0) body[limit_key] = spec.output_tokens;
  body["temperature"] = spec.temperature;
  if (spec.exact_output) body["ignore_eos"] = true;
  body["stream"] = spec.stream;
}

Json chat_body(const BodySpec& spec) {
  Json body{{"model", spec.model}, {"messages", messages_of(spec)}};
  add_generation(body, spec, "max_tokens");
  if (spec.stream) body["stream_options"] = {{"include_usage", true}};
  return body;
}

Json completions_body(const BodySpec& spec) {
  Json body{{"model", spec.model}, {"prompt", prompt_of(spec)}};
  add_generation(body, spec, "max_tokens");
  if (spec.stream) body["stream_options"] = {{"include_usage", true}};
  return body;
}

Json responses_body(const BodySpec& spec) {
  Json body{{"model", spec.model}, {"input", messages_of(spec)}};
  add_generation(body, spec, "max_output_tokens");
  return body;
}

/// The limit is obligatory there.
Json messages_body(const BodySpec& spec) {
  Json body{{"model", spec.model}, {"messages", Json::array()}};
  std::string system;
  for (const auto& message : spec.messages) {
    if (message.role == "system") {
      system += message.text;
    } else {
      body["messages"].push_back({{"role", message.role}, {"content", message.text}});
    }
  }
  if (!system.empty()) body["system"] = system;
  body["max_tokens"] = spec.output_tokens > 0 ? spec.output_tokens : 1024;
  body["temperature"] = spec.temperature;
  body["stream"] = spec.stream;
  return body;
}

/// Cohere's, of its second version.
Json cohere_body(const BodySpec& spec) {
  Json body{{"model", spec.model}, {"messages", messages_of(spec)}, {"stream", spec.stream}};
  if (spec.output_tokens > 0) body["max_tokens"] = spec.output_tokens;
  body["temperature"] = spec.temperature;
  return body;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

/// Oracle's Generative AI: the request stands in an envelope that says where it is served.
Json oci_body(const BodySpec& spec, Json request) {
  if (spec.output_tokens > 0) request["maxTokens"] = spec.output_tokens;
  request["temperature"] = spec.temperature;
  request["isStream"] = spec.stream;
  return {{"servingMode", {{"servingType", "ON_DEMAND"}, {"modelId", spec.model}}},
          {"chatRequest", std::move(request)}};
}

Json oci_messages(const BodySpec& spec) {
  Json messages = Json::array();
  for (const auto& message : spec.messages) {
    Json content = Json::array();
    content.push_back({{"type", "TEXT"}, {"text", message.text}});
    messages.push_back({{"role", upper(message.role)}, {"content", std::move(content)}});
  }
  return messages;
}

Json oci_generic_body(const BodySpec& spec) {
  Json request{{"apiFormat", "GENERIC"}, {"messages", oci_messages(spec)}, {"numGenerations", 1}};
  if (spec.stream) request["streamOptions"] = {{"isIncludeUsage", true}};
  return oci_body(spec, std::move(request));
}

Json oci_cohere_v2_body(const BodySpec& spec) {
  return oci_body(spec, {{"apiFormat", "COHEREV2"}, {"messages", oci_messages(spec)}});
}

Json oci_cohere_body(const BodySpec& spec) {
  Json request{{"apiFormat", "COHERE"}, {"message", spec.messages.back().text}};
  for (std::size_t i = 0; i + 1 < spec.messages.size(); ++i) {
    const auto& [role, text] = spec.messages[i];
    request["chatHistory"].push_back({{"role", role == "assistant" ? "CHATBOT" : upper(role)}, {"message", text}});
  }
  return oci_body(spec, std::move(request));
}

Json embeddings_body(const BodySpec& spec) {
  return {{"model", spec.model}, {"input", documents_of(spec)}, {"encoding_format", "float"}};
}

Json rerank_body(const BodySpec& spec) {
  return {{"model", spec.model}, {"query", spec.query}, {"documents", documents_of(spec)}};
}

http::Headers bearer(const std::string& key) {
  if (key.empty()) return {};
  return {{"Authorization", "Bearer " + key}};
}

http::Headers azure_headers(const std::string& key) {
  if (key.empty()) return {};
  return {{"api-key", key}};
}

http::Headers anthropic_headers(const std::string& key) {
  http::Headers headers{{"anthropic-version", "2023-06-01"}};
  if (!key.empty()) headers.push_back({"x-api-key", key});
  return headers;
}

constexpr Api kChat{"chat", "text-to-text", "/v1/chat/completions", true, "[DONE]", chat_body, bearer};
constexpr Api kCompletions{"completions", "text-to-text", "/v1/completions", true, "[DONE]", completions_body, bearer};
constexpr Api kResponses{"responses", "text-to-text", "/v1/responses", true, "", responses_body, bearer};
constexpr Api kMessages{"messages", "text-to-text", "/v1/messages", true, "", messages_body, anthropic_headers};
constexpr Api kAzureChat{"azure-chat", "text-to-text", "/chat/completions", true, "[DONE]", chat_body, azure_headers};
/// Vertex AI: as chat, without a version behind its own path.
constexpr Api kVertexChat{"vertex-chat", "text-to-text", "/chat/completions", true, "[DONE]", chat_body, bearer};
constexpr Api kCohereChat{"cohere-chat", "text-to-text", "/v2/chat", true, "", cohere_body, bearer};
constexpr Api kOciGeneric{"oci-generic", "text-to-text", "/chat", true, "", oci_generic_body, bearer};
constexpr Api kOciCohere{"oci-cohere", "text-to-text", "/chat", true, "", oci_cohere_body, bearer};
constexpr Api kOciCohereV2{"oci-cohere-v2", "text-to-text", "/chat", true, "", oci_cohere_v2_body, bearer};
constexpr Api kVision{"vision", "image-text-to-text", "/v1/chat/completions", true, "[DONE]", chat_body, bearer};
constexpr Api kEmbeddings{"embeddings", "text-to-embeddings", "/v1/embeddings", false, "", embeddings_body, bearer};
constexpr Api kRerank{"rerank", "text-to-rerank", "/v1/rerank", false, "", rerank_body, bearer};

}  // namespace

Catalog<Api> apis() {
  static constexpr const Api* kApis[] = {&kChat,       &kCompletions, &kResponses,  &kMessages,  &kVision,
                                         &kEmbeddings, &kRerank,      &kVertexChat, &kAzureChat, &kCohereChat,
                                         &kOciGeneric, &kOciCohere,   &kOciCohereV2};
  return kApis;
}

Json own_parameters(const Api& api, Json parameters) {
  if (!std::string_view(api.id).starts_with("oci-")) return parameters;
  Json own = Json::object();
  for (const auto& [key, value] : parameters.items()) {
    if (key == "compartmentId" || key == "servingMode" || key == "chatRequest")
      own[key] = value;
    else if (key == "servingType" || key == "endpointId")
      own["servingMode"][key] = value;
    else
      own["chatRequest"][key] = value;
  }
  if (parameters.contains("endpointId")) own["servingMode"]["modelId"] = nullptr;  // a dedicated one has its own model
  return own;
}

std::string path_below(const std::string& base_path, const std::string& api_path) {
  const auto query = base_path.find('?');
  std::string folder = base_path.substr(0, query);
  while (folder.ends_with('/')) folder.pop_back();
  std::string path = api_path;
  // Only the first part, as in "/v1" or "/openai/v1", may be there already.
  const std::string first = path.substr(0, path.find('/', 1));
  if (folder.ends_with(first)) path.erase(0, first.size());
  return folder + path + (query == std::string::npos ? "" : base_path.substr(query));
}

}  // namespace warpmark::serving
