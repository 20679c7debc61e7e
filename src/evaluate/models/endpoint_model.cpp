#include "evaluate/models/endpoint_model.h"

#include <fmt/format.h>

#include "accuracy/text/unicode.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "http/client.h"

namespace warpmark::evaluate {
namespace {

constexpr std::size_t kShownOfBody = 200;

bool status_may_pass(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

double retry_after_s(const http::Response& response) {
  const std::string* text = http::find_header(response.headers, "Retry-After");
  if (text == nullptr) return 0;
  const auto seconds = parse_number(std::string(trim(*text)));
  return seconds.ok() && *seconds > 0 ? *seconds : 0;
}

const char* path_of(Api api) {
  switch (api) {
    case Api::chat: return "chat/completions";
    case Api::completions: return "completions";
    case Api::embeddings: return "embeddings";
  }
  return "";
}

class EndpointModel : public Model {
 public:
  explicit EndpointModel(EndpointOptions options) : options_(std::move(options)) {}

  AskResult ask(Api api, const Json& request, double deadline_s, const std::atomic<bool>* interrupted) override {
    http::Request message{.method = "POST", .url = http::below(options_.url, path_of(api))};
    message.headers.push_back({"Content-Type", "application/json"});
    if (!options_.api_key.empty()) message.headers.push_back({"Authorization", "Bearer " + options_.api_key});
    Json body = request;
    if (!options_.model.empty()) body["model"] = options_.model;
    message.body = dump_json(body, -1);
    if (!client_ || deadline_s != deadline_s_) {
      http::RequestOptions settings;
      settings.deadline_s = deadline_s_ = deadline_s;
      settings.interrupted = interrupted;
      client_ = std::make_unique<http::Client>(settings);
    }
    const std::int64_t began = monotonic_ns();
    const auto response = client_->send(message);
    if (!response.ok()) return failed(response.error().what, response.error().kind != ErrorKind::usage, 0);
    if (response->status != 200) {
      const std::string said = accuracy::cleaned_utf8(response->body.substr(0, kShownOfBody));
      return failed(fmt::format("status {}: {}", response->status, std::string(trim(said))),
                    status_may_pass(response->status), retry_after_s(*response));
    }
    const bool damaged = !accuracy::is_utf8(response->body);
    const auto json = parse_json(response->body, "the server's answer");
    if (!json.ok()) return failed(damaged ? "the server's answer is no UTF-8" : json.error().what, false, 0);
    auto reply = reply_of(*json);
    if (!reply.ok()) return failed(reply.error().what, false, 0);
    reply->latency_s = static_cast<double>(monotonic_ns() - began) * 1e-9;
    return {std::move(*reply), {}};
  }

 private:
  static AskResult failed(std::string what, bool may_pass, double wait_s) {
    return {std::nullopt, {.what = std::move(what), .may_pass = may_pass, .wait_s = wait_s}};
  }
  EndpointOptions options_;
  std::unique_ptr<http::Client> client_;
  double deadline_s_ = 0;
};

}  // namespace

std::unique_ptr<Model> endpoint_model(EndpointOptions options) {
  return std::make_unique<EndpointModel>(std::move(options));
}

}  // namespace warpmark::evaluate
