// The reference server: an inference server without a model, whose answers come at scripted times and say when each of
// their events was sent. A load client that measures it can be judged by it. One thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "serving/reference/scripted_answers.h"

namespace warpmark::serving {

struct ReferenceServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;        ///< 0: a free one
  std::string certificate_file;  ///< with key_file: https
  std::string key_file;
  int cpu = -1;                 ///< its thread runs there alone; -1 anywhere
  double idle_deadline_s = 75;  ///< a connection without a whole request ends then, as with common servers
  ReferenceScript script;
};

/// What it did so far. Any thread may read.
struct ReferenceCounts {
  std::atomic<std::int64_t> connections{0}, requests{0}, answered{0}, events{0};
  std::atomic<std::int64_t> most_streams{0};  ///< at a time
};

class ReferenceServer {
 public:
  /// Listens and answers until it is destroyed. Environment error if the port is taken, data error for a certificate
  /// that cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<ReferenceServer>> start(const ReferenceServerOptions& options);
  ~ReferenceServer();
  ReferenceServer(const ReferenceServer&) = delete;
  ReferenceServer& operator=(const ReferenceServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// "http://127.0.0.1:40123".
  [[nodiscard]] std::string url() const;
  [[nodiscard]] const ReferenceCounts& counts() const;

 private:
  struct State;
  explicit ReferenceServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpmark::serving
