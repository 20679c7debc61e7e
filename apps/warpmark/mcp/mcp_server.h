// The server of `warpmark mcp`: messages in, messages out. Calls of tools are worked off one after the other in a
// thread of their own, as measurements that overlap disturb each other; all else is answered at once.
//
// Protocol versions: 2026-07-28, which has no handshake and says its version in each request, and those that begin with
// `initialize` (2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05).
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "warpmark/mcp/mcp_call.h"
#include "warpmark/mcp/mcp_messages.h"

namespace warpmark::apps {

class McpServer {
 public:
  struct Options {
    McpConfig config;
    std::string version;  ///< of warpmark
    /// Answers a call; tests give their own.
    std::function<McpOutcome(const McpTool& tool, const Json& arguments, const McpCallOptions& call)> call;
    /// Takes one message without a newline; called from two threads, never at once.
    std::function<void(const std::string& line)> send;
  };
  explicit McpServer(Options options);
  /// Ends the call in progress and forgets those that wait.
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  void take(std::string_view line);

 private:
  struct Job {
    Json id;
    const McpTool* tool = nullptr;
    Json arguments;
    Json progress_token;
    bool modern = false;
    bool knows_structure = true;  ///< "structuredContent" is of 2025-06-18
    std::atomic<bool> cancelled{false};
  };

  void answer_request(const RpcMessage& message);
  void answer_modern(const RpcMessage& message);
  void answer_legacy(const RpcMessage& message);
  void initialize(const RpcMessage& message);
  void start_call(const RpcMessage& message, bool modern);
  void cancel(const Json& params);
  void work();
  void finish(const Job& job);
  void send(const Json& message);
  [[nodiscard]] Json complete(Json result) const;

  Options options_;
  std::string legacy_version_;  ///< empty until `initialize`
  std::mutex sending_;
  std::mutex lock_;  ///< of what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< the first is being worked on if busy_
  bool busy_ = false;
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace warpmark::apps
