#include "warpmark/mcp/mcp_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::apps {
namespace {

constexpr const char* kModernVersion = "2026-07-28";
constexpr std::array<const char*, 4> kLegacyVersions{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::size_t kMostJobs = 16;
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

constexpr const char* kInstructions =
    "warpmark measures, with confidence intervals and verdicts. Ask doctor first. Diagnose with profile or analyze "
    "before "
    "changing code, and prove a change with compare: only 'better' is faster, and 'inconclusive' is not 'same'. Calls "
    "run "
    "one after the other and may take minutes; ask for progress, give a budget, cancel what is not needed. Commands "
    "and "
    "files are the ones allowed in the server's configuration.";

Json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

std::optional<double> budget_of(const Json& arguments) {
  const Json budget = arguments.is_object() ? arguments.value("budget", Json()) : Json();
  if (budget.is_number()) return budget.get<double>();
  if (!budget.is_string()) return std::nullopt;
  const auto seconds = parse_duration_s(budget.get<std::string>());
  return seconds.ok() ? std::optional(*seconds) : std::nullopt;
}

bool is_token(const Json& token) { return token.is_string() || token.is_number_integer(); }

}  // namespace

McpServer::McpServer(Options options) : options_(std::move(options)), worker_([this] { work(); }) {}

McpServer::~McpServer() {
  {
    const std::lock_guard guard(lock_);
    ending_ = true;
    for (const auto& job : jobs_) job->cancelled.store(true);
  }
  changed_.notify_all();
  worker_.join();
}

void McpServer::take(std::string_view line) {
  if (trim(line).empty()) return;
  const auto read = read_rpc_message(line);
  if (const auto* refusal = std::get_if<RpcRefusal>(&read)) return send(refusal->answer);
  const auto& message = std::get<RpcMessage>(read);
  if (message.method == "notifications/cancelled") return cancel(message.params);
  if (message.is_request()) answer_request(message);
}

void McpServer::answer_request(const RpcMessage& message) {
  const Json meta = message.params.value("_meta", Json::object());
  if (meta.is_object() && meta.contains(kVersionKey)) {
    if (meta[kVersionKey] != kModernVersion) {
      return send(rpc_failure(message.id, kUnsupportedVersion, "Unsupported protocol version",
                              {{"supported", {kModernVersion}}, {"requested", meta[kVersionKey]}}));
    }
    if (!meta.value(kCapabilitiesKey, Json()).is_object()) {
      return send(rpc_failure(message.id, kInvalidParams, std::string("_meta needs ") + kCapabilitiesKey));
    }
    return answer_modern(message);
  }
  if (message.method == "initialize") return initialize(message);
  answer_legacy(message);
}

Json McpServer::complete(Json result) const {
  result["resultType"] = "complete";
  result["_meta"]["io.modelcontextprotocol/serverInfo"] = {{"name", "warpmark"}, {"version", options_.version}};
  return result;
}

namespace {

Json tool_list(const McpConfig& config) {
  Json tools = Json::array();
  for (const McpTool* tool : mcp_tools()) {
    const Json json = mcp_tool_json(*tool, config);
    const auto& properties = json["inputSchema"]["properties"];
    // Without commands there is nothing to profile or to optimize.
    const bool usable = std::all_of(tool->properties.begin(), tool->properties.end(), [&](const McpProperty& property) {
      return !property.required || properties.contains(property.name);
    });
    if (usable) tools.push_back(json);
  }
  return {{"tools", std::move(tools)}};
}

}  // namespace

void McpServer::answer_modern(const RpcMessage& message) {
  if (message.method == "server/discover") {
    return send(rpc_answer(message.id, complete({{"supportedVersions", {kModernVersion}},
                                                 {"capabilities", {{"tools", Json::object()}}},
                                                 {"serverInfo", {{"name", "warpmark"}, {"version", options_.version}}},
                                                 {"instructions", kInstructions},
                                                 {"ttlMs", 3'600'000},
                                                 {"cacheScope", "private"}})));
  }
  if (message.method == "tools/list") {
    Json result = tool_list(options_.config);
    result["ttlMs"] = 3'600'000;
    result["cacheScope"] = "private";
    return send(rpc_answer(message.id, complete(std::move(result))));
  }
  if (message.method == "tools/call") return start_call(message, true);
  send(rpc_failure(message.id, kUnknownMethod, "there is no method " + message.method));
}

void McpServer::initialize(const RpcMessage& message) {
  const Json wanted = message.params.value("protocolVersion", Json());
  if (!wanted.is_string()) return send(rpc_failure(message.id, kInvalidParams, "protocolVersion must be a text"));
  const auto known = std::find(kLegacyVersions.begin(), kLegacyVersions.end(), wanted.get<std::string>());
  legacy_version_ = known == kLegacyVersions.end() ? kLegacyVersions.front() : *known;
  send(rpc_answer(message.id, {{"protocolVersion", legacy_version_},
                               {"capabilities", {{"tools", Json::object()}}},
                               {"serverInfo", {{"name", "warpmark"}, {"version", options_.version}}},
                               {"instructions", kInstructions}}));
}

void McpServer::answer_legacy(const RpcMessage& message) {
  if (message.method == "ping") return send(rpc_answer(message.id, Json::object()));
  if (legacy_version_.empty()) {
    return send(
        rpc_failure(message.id, kInvalidParams,
                    std::string("call initialize first, or name the protocol version in _meta: ") + kVersionKey));
  }
  if (message.method == "tools/list") return send(rpc_answer(message.id, tool_list(options_.config)));
  if (message.method == "tools/call") return start_call(message, false);
  send(rpc_failure(message.id, kUnknownMethod, "there is no method " + message.method));
}

void McpServer::start_call(const RpcMessage& message, bool modern) {
  const Json name = message.params.value("name", Json());
  const auto* tool = name.is_string() ? find_in(mcp_tools(), name.get<std::string>()) : nullptr;
  if (tool == nullptr) {
    return send(
        rpc_failure(message.id, kInvalidParams,
                    "Unknown tool: " + (name.is_string() ? name.get<std::string>() : name.dump()).substr(0, 100) +
                        "; there is " + join(ids_of(mcp_tools()), ", ")));
  }
  auto job = std::make_shared<Job>();
  job->id = message.id;
  job->tool = tool;
  job->arguments = message.params.value("arguments", Json::object());
  job->modern = modern;
  job->knows_structure = modern || legacy_version_ >= "2025-06-18";
  if (const Json meta = message.params.value("_meta", Json()); meta.is_object()) {
    if (const Json token = meta.value("progressToken", Json()); is_token(token)) job->progress_token = token;
  }
  {
    const std::lock_guard guard(lock_);
    const bool used = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& other) { return other->id == job->id; });
    if (used || jobs_.size() >= kMostJobs) {
      return send(rpc_failure(
          message.id, kInvalidRequest,
          used ? "a call with this id is in progress" : "16 calls are waiting already; they run one after the other"));
    }
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void McpServer::cancel(const Json& params) {
  const Json id = params.value("requestId", Json());
  const std::lock_guard guard(lock_);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i]->id != id) continue;
    jobs_[i]->cancelled.store(true);
    if (i > 0 || !busy_) jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void McpServer::work() {
  std::unique_lock guard(lock_);
  while (true) {
    // wait() itself asks for a newer libstdc++ than the distribution may.
    while (!changed_.wait_for(guard, std::chrono::seconds(1), [this] { return ending_ || !jobs_.empty(); })) {
    }
    if (ending_) return;
    const auto job = jobs_.front();
    busy_ = true;
    guard.unlock();
    finish(*job);
    guard.lock();
    busy_ = false;
    jobs_.pop_front();
  }
}

void McpServer::finish(const Job& job) {
  McpCallOptions call;
  call.should_stop = [&job] { return job.cancelled.load(); };
  if (!job.progress_token.is_null()) {
    call.progress = [this, &job](double elapsed_s, const std::string& message) {
      if (job.cancelled.load()) return;
      Json params{{"progressToken", job.progress_token}, {"progress", elapsed_s}};
      // A budget is the only end that is known; a call that goes beyond it has none any more.
      const auto budget_s = budget_of(job.arguments);
      if (budget_s && elapsed_s < *budget_s) params["total"] = *budget_s;
      params["message"] =
          fmt::format("{:.0f} s: {}", elapsed_s, message.empty() ? std::string(job.tool->id) + " is running" : message);
      send(rpc_notification("notifications/progress", std::move(params)));
    };
  }
  const auto outcome = options_.call(*job.tool, job.arguments, call);
  if (job.cancelled.load()) return;  // nobody waits for it any more
  Json content = Json::array({text_block(outcome.text)});
  if (!outcome.failed && !job.knows_structure) content.push_back(text_block(dump_json(outcome.json, -1)));
  Json result{{"content", std::move(content)}, {"isError", outcome.failed}};
  if (!outcome.failed && job.knows_structure) result["structuredContent"] = outcome.json;
  result["_meta"] = {{"warpmark/exitCode", outcome.exit_code}};
  send(rpc_answer(job.id, job.modern ? complete(std::move(result)) : std::move(result)));
}

void McpServer::send(const Json& message) {
  const auto line = dump_json(message, -1);
  const std::lock_guard guard(sending_);
  options_.send(line);
}

}  // namespace warpmark::apps
